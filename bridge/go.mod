module github.com/iggy-kafka/iggy-kafka/bridge

go 1.26.0

require (
	github.com/BurntSushi/toml v1.6.0
	github.com/google/go-cmp v0.7.0
)

replace github.com/iggy-kafka/iggy-kafka/recordcodec => ../recordcodec
