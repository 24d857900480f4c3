# The whole of this repository's housekeeping. Run `make help` for the targets.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

MODULES := wire recordcodec recordcodec/bench coordinator bridge bridge/embedded gateway e2e
# A module with a workspace of its own: deploy/doc.go says why.
APART := deploy
BINARIES := ./gateway/cmd/iggy-kafka-gateway ./bridge/embedded/cmd/iggy-embedded ./wire/cmd/kafkawire
STATICCHECK_VERSION := v0.8.2
STATICCHECK := $(CURDIR)/bin/staticcheck-$(STATICCHECK_VERSION)
# The packages whose tests hang on their own files alone. The end-to-end suite starts programs, whose changes the test
# cache does not see: it always runs.
UNIT = $$(go list work | grep -vE '/e2e/(suite|soak|packages)$$')
SUITE := ./e2e/suite ./e2e/soak ./e2e/packages
# Most parallel tests only wait, and go test would run as many at a time as there are processors. A package may take longer than
# the usual 10 minutes on a slow machine.
PATIENT := -parallel 8 -timeout 30m
# What each client was put through, as a table: the suite adds a row for each.
REPORT := $(CURDIR)/bin/clients.md
FUZZTIME ?= 20s
BENCH ?= .

# $(call each,MODULES,COMMAND) runs the command in every module's folder, also after it has failed in one.
each = failed=; for module in $(1); do echo "== $$module"; (cd $$module && $(2)) || failed+=" $$module"; done; \
	if [[ -n "$$failed" ]]; then echo "failed in:$$failed"; exit 1; fi

.PHONY: help
help: ## show the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 18

.PHONY: build
build: ## build the binaries into bin/
	go build -o bin/ $(BINARIES)

.PHONY: run
run: build ## run the gateway with an Iggy of its own, on 127.0.0.1:8090 for native clients; data in ./iggy-kafka-data
	IGGY_KAFKA_EMBEDDED=true IGGY_KAFKA_EMBEDDED_ADDR=$${IGGY_KAFKA_EMBEDDED_ADDR-127.0.0.1:8090} exec bin/iggy-kafka-gateway

.PHONY: test
test: build ## unit tests, and clients against the gateway: Go's, and those for kcat, Java, Python, Node if there; minutes
	go test $(PATIENT) $(UNIT)
	@# These look at files outside of their modules, which the test cache does not.
	go test -count=1 ./e2e/documents ./e2e/structure ./gateway/internal/docs
	go -C deploy test -count=1 -timeout 30m ./...
	printf '| client | version | target | exercised | result |\n|---|---|---|---|---|\n' >$(REPORT)
	code=0; E2E_REPORT=$(REPORT) go test -p 1 -count=1 -timeout 30m $(SUITE) || code=$$?; cat $(REPORT); exit $$code

.PHONY: release
release: ## the archives of PLATFORMS (linux/amd64,linux/arm64,darwin/arm64) in dist/, with checksums and bills of materials
	go -C deploy run ./release $(if $(PLATFORMS),-platforms $(PLATFORMS))

.PHONY: clients-table
clients-table: ## write what the last make test put clients through, on the gateway in front of an Iggy of its own, into docs/compatibility.md
	{ sed -n 1,2p $(REPORT); grep '| separate |' $(REPORT) | LC_ALL=C sort; } >$(REPORT).sorted
	sed -i -e '/^<!-- begin: clients/,/^<!-- end: clients/{//!d}' -e '/^<!-- begin: clients/r $(REPORT).sorted' docs/compatibility.md

.PHONY: ci
ci: lint verify-modules race ## all that a change must pass

.PHONY: race
race: ## every test under the race detector, heavy rounds shortened, the binaries that e2e starts included; fuzz targets run on their seeds
	mkdir -p bin
	@# The detector's own runtime fails a check now and then in synctest bubbles (Go 1.26, tsan_rtl.cpp, kEpochLast). Only
	@# then, and only what has not passed, runs again.
	for try in 1 2 3 4 5; do \
		if go test -race -short $(PATIENT) $(UNIT) 2>&1 | tee bin/race.log; then break; fi; \
		[[ $$try != 5 ]] && grep -q '^ThreadSanitizer: CHECK failed' bin/race.log || exit 1; \
		echo "== the race detector crashed, not a test: once more"; \
	done
	E2E_RACE=true go test -race -count=1 -timeout 30m ./e2e/suite
	go test -race -short ./e2e/soak

.PHONY: verify-modules
verify-modules: ## each module builds, vets and tests on its own, as its importers see it
	export GOWORK=off; $(call each,$(MODULES),go mod tidy -diff && go build ./... && go vet ./... && go test -short $(PATIENT) ./...)

.PHONY: lint
lint: $(STATICCHECK) ## gofmt, go vet, staticcheck
	unformatted=$$(gofmt -l $(MODULES) $(APART)); if [[ -n "$$unformatted" ]]; then echo "not gofmt'ed:"; echo "$$unformatted"; exit 1; fi
	go vet work
	go -C deploy vet ./...
	$(call each,$(MODULES) $(APART),$(STATICCHECK) ./...)

$(STATICCHECK):
	mkdir -p bin
	GOBIN=$(CURDIR)/bin go install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
	mv bin/staticcheck $@

.PHONY: fmt
fmt: ## rewrite all Go files in gofmt's form
	gofmt -w $(MODULES) $(APART)

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME (20s) each
	for module in $(MODULES); do (cd $$module; \
		for package in $$(go list ./...); do \
			targets=$$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); \
			for target in $$targets; do echo "== $$package $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; done; \
		done); done

.PHONY: soak
soak: ## RUNS (200) runs of clients while everything is killed, paused and cut off; SEED=n the first one's; ARGS='-parallel 4'
	SOAK_RUNS=$(or $(RUNS),200) SOAK_SEED=$(SEED) go test -count=1 -timeout 6h -v -run '^TestSoak$$' $(ARGS) ./e2e/soak | grep -v '^=== '

.PHONY: bench
bench: ## the Go benchmarks that BENCH (all) names
	go test -run '^$$' -bench '$(BENCH)' -benchmem work

.PHONY: bench-e2e
bench-e2e: ## Kafka clients through the gateway, beside the Iggy SDK and Kafka; minutes; ARGS='-preset sdk', ARGS=-help
	cd e2e && go run ./bench $(ARGS)

.PHONY: bench-codec
bench-codec: ## recordcodec beside franz-go's and kafka-go's codecs, in pairs; flags by ARGS='-only ^decode/none'
	cd recordcodec/bench && go run . $(ARGS)

.PHONY: peers
peers: ## tests that franz-go and kafka-go have of their own, against a gateway; minutes, localhost:9092 must be free
	e2e/peers/run

.PHONY: verify-protocol
verify-protocol: build ## every served API and version of the gateway or broker at ADDR, host:port
	$(if $(ADDR),,$(error set ADDR, the host and port to verify: make verify-protocol ADDR=127.0.0.1:9093))
	bin/kafkawire verify -table $(ADDR)
