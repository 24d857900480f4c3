module github.com/iggy-kafka/iggy-kafka/recordcodec/bench

go 1.26.0

require (
	github.com/iggy-kafka/iggy-kafka/recordcodec v0.0.0
	github.com/segmentio/kafka-go v0.4.51
	github.com/twmb/franz-go v1.22.3
	github.com/twmb/franz-go/pkg/kmsg v1.15.1
)

require (
	github.com/golang/snappy v1.0.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
)

replace github.com/iggy-kafka/iggy-kafka/recordcodec => ../
