module github.com/iggy-kafka/iggy-kafka/coordinator

go 1.26.0

require (
	github.com/cockroachdb/datadriven v1.0.3
	github.com/google/go-cmp v0.7.0
)

require github.com/pmezard/go-difflib v1.0.0 // indirect
