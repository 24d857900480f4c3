module github.com/iggy-kafka/iggy-kafka/e2e/clients/old

go 1.26.0

require (
	github.com/Shopify/sarama v1.19.0
	github.com/segmentio/kafka-go v0.3.5
	github.com/twmb/franz-go v1.0.0
	github.com/twmb/franz-go/pkg/kmsg v0.0.0-20210901051457-3c197a133ddd
)

require (
	github.com/Shopify/toxiproxy v2.1.4+incompatible // indirect
	github.com/davecgh/go-spew v1.1.0 // indirect
	github.com/eapache/go-resiliency v1.7.0 // indirect
	github.com/eapache/go-xerial-snappy v0.0.0-20180814174437-776d5712da21 // indirect
	github.com/eapache/queue v1.1.0 // indirect
	github.com/golang/snappy v0.0.1 // indirect
	github.com/klauspost/compress v1.13.5 // indirect
	github.com/pierrec/lz4 v2.0.5+incompatible // indirect
	github.com/pierrec/lz4/v4 v4.1.8 // indirect
	github.com/rcrowley/go-metrics v0.0.0-20250401214520-65e299d6c5c9 // indirect
	github.com/twmb/go-rbtree v1.0.0 // indirect
)
