module github.com/iggy-kafka/iggy-kafka/recordcodec

go 1.26

require (
	github.com/golang/snappy v1.0.0
	github.com/google/go-cmp v0.7.0
	github.com/klauspost/compress v1.20.4
	github.com/pierrec/lz4/v4 v4.1.33
)
