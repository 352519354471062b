# Everything a developer or a CI runs. Each target sets up what it needs: the Go command fetches the toolchain named here.

export GOTOOLCHAIN := go1.27.3
# Property tests draw the same cases in every run of `make test`, so that it says something about a change; `make soak`
# draws fresh ones.
export RAPID_SEED ?= 1

GO            ?= go
# The toolchain's own gofmt: one of another version may not know the language.
GOFMT          = $$($(GO) env GOROOT)/bin/gofmt
BIN           := $(CURDIR)/bin
STATICCHECK   := $(BIN)/staticcheck
STATICCHECK_V := v0.8.2

# What runs under the race detector: the runtime and all that it stands on.
RACE_PACKAGES := . ./internal/... ./weirtest/...
TEST_TIMEOUT  ?= 10m
# All Go source, found without git: a clone that belongs to another user must not look empty.
GO_FILES       = find . -name '*.go' -not -path './.*' -not -path './bin/*' -not -path '*/testdata/*'
# Where benchmarks are looked for, and which.
BENCH         ?= .
BENCH_COUNT   ?= 1
# How long each fuzzer runs, and how many seeds each soak test tries.
FUZZ_TIME     ?= 20s
SEEDS         ?= 100

.PHONY: build demo test lint arch suites race bench soak fuzz golden fmt clean

build: ## compile everything; programs go to bin/
	$(GO) build ./...
	@mkdir -p $(BIN)
	@for d in $$($(GO) list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./...); do \
		echo "$(GO) build -o bin/ $$d"; $(GO) build -o $(BIN)/ $$d || exit 1; done

demo: ## the flights example over the whole year
	$(GO) run ./examples/flights demo

test: lint arch suites race ## what must pass before a change lands

lint: $(STATICCHECK) ## gofmt, vet, staticcheck
	@out=$$($(GO_FILES) -exec $(GOFMT) -l {} +) || exit 1; \
		if [ -n "$$out" ]; then echo "not formatted (make fmt):"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(STATICCHECK) ./...

arch: ## import policy, budgets, names
	$(GO) test -count=1 ./internal/testkit/arch

suites: ## all tests, and the forms that a build tag selects
	$(GO) test -timeout $(TEST_TIMEOUT) ./...
	$(GO) test -timeout $(TEST_TIMEOUT) -tags synctest ./internal/xsync
	$(GO) test -timeout $(TEST_TIMEOUT) -tags invariants ./internal/invariant

# The race detector also switches the invariants on. Properties are drawn less often than in suites: what it looks for does not depend on values. It needs a C compiler; RACE=required makes its absence a failure.
race: ## the runtime under the race detector
	@if command -v "$${CC:-gcc}" >/dev/null 2>&1 || command -v clang >/dev/null 2>&1; then \
		pkgs=$$($(GO) list $$(for p in $(RACE_PACKAGES); do [ -d "$${p%/...}" ] && echo $$p; done)) || exit 1; \
		echo "$(GO) test -race $(RACE_PACKAGES)"; CGO_ENABLED=1 RAPID_CHECKS=25 $(GO) test -race -timeout $(TEST_TIMEOUT) $$pkgs; \
	else \
		echo "SKIPPED: the race detector needs a C compiler (apt-get install gcc libc6-dev)"; [ "$(RACE)" != required ]; \
	fi

$(STATICCHECK):
	@mkdir -p $(BIN)
	GOBIN=$(BIN) $(GO) install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_V)

bench: ## the speed table: make bench BENCH=Keyed BENCH_COUNT=5
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(BENCH_COUNT) -timeout 60m ./bench/...

soak: ## long runs from seeds: make soak SEEDS=1000
	WEIR_SEEDS=$(SEEDS) $(GO) test -count=1 -timeout 0 -run Soak ./...
	RAPID_SEED=0 $(GO) test -count=1 -timeout 0 $$($(GO) list -f '{{$$p := .ImportPath}}{{range .TestImports}}{{if eq . "pgregory.net/rapid"}}{{$$p}} {{end}}{{end}}{{range .XTestImports}}{{if eq . "pgregory.net/rapid"}}{{$$p}} {{end}}{{end}}' ./... | tr ' ' '\n' | sort -u) -rapid.checks $(SEEDS)

fuzz: ## each fuzzer for a while: make fuzz FUZZ_TIME=5m
	@for p in $$($(GO_FILES) -exec grep -l '^func Fuzz' {} + | xargs -r -n1 dirname | sort -u); do \
		for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]*' $$p/*_test.go | cut -c6-); do \
			echo "$(GO) test -fuzz $$f $$p"; \
			$(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZ_TIME) $$p || exit 1; done; done

golden: ## write the expected texts anew; then read the diff
	WEIR_GOLDEN=write $(GO) test -count=1 ./... || true
	@pkgs=$$($(GO_FILES) -name '*_test.go' -exec grep -l 'cockroachdb/datadriven' {} + | xargs -r -n1 dirname | sort -u); \
		[ -z "$$pkgs" ] || $(GO) test -count=1 $$pkgs -rewrite || true
	git diff --stat

fmt: ## format everything
	$(GO_FILES) -exec $(GOFMT) -w {} +

clean: ## remove what the targets above wrote
	rm -rf $(BIN) out
