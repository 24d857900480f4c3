module github.com/iggy-kafka/iggy-kafka/wire

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/twmb/franz-go/pkg/kmsg v1.15.1
)
