module github.com/iggy-kafka/iggy-kafka/bridge

go 1.26.0

require (
	github.com/BurntSushi/toml v1.6.0
	github.com/google/go-cmp v0.7.0
	github.com/iggy-kafka/iggy-kafka/coordinator v0.0.0
	github.com/iggy-kafka/iggy-kafka/recordcodec v0.0.0
	golang.org/x/sync v0.25.0
)

require (
	github.com/golang/snappy v1.0.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
)

replace github.com/iggy-kafka/iggy-kafka/recordcodec => ../recordcodec

replace github.com/iggy-kafka/iggy-kafka/coordinator => ../coordinator
