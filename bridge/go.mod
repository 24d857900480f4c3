module github.com/iggy-kafka/iggy-kafka/bridge

go 1.26.0

require github.com/iggy-kafka/iggy-kafka/recordcodec v0.0.0

require (
	github.com/BurntSushi/toml v1.6.0 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
)

replace github.com/iggy-kafka/iggy-kafka/recordcodec => ../recordcodec
