# The commands of this repository. Everything goes through cargo, go, mvn and npm.

CARGO ?= cargo
FACEOFF = target/release/faceoff

.PHONY: build page demo systems check articles test test-all conformance lint release reference bench reality capacity clean

build: page ## the command, in target/release/faceoff
	$(CARGO) build --release --locked -p faceoff

page: web/dist/index.html ## the page that reports embed

web/dist/index.html: web/node_modules $(shell find web/src web/index.html web/vite.config.ts -type f 2>/dev/null)
	cd web && npm run --silent build

web/node_modules: web/package.json web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	touch web/node_modules

demo: build ## a first answer: does a Go reverse proxy beat a Spring Boot one?
	$(FACEOFF) run reverse-proxy --quick

systems: build ## build every system
	$(FACEOFF) build

check: build ## prove that every system answers rightly
	$(FACEOFF) check --all

articles: build ## every experiment of the articles in full, hours in all and resumable, into docs/articles.md
	scripts/articles

test: build ## every test of every language, with one closing line
	scripts/test

test-all: build ## the longer proofs as well
	scripts/test --all

conformance: page ## real servers, every kind of answer (part of test-all)
	$(CARGO) test --locked -p faceoff --test conformance -- --ignored

lint: page ## formatting and lints of every language
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	for go in systems/*/go.mod conformance/go/go.mod; do (cd $$(dirname $$go) && test -z "$$(gofmt -l .)" && go vet ./...) || exit 1; done
	cd web && npm run --silent lint

release: page ## a static file for others, with its SHA-256, in target/release-files
	scripts/release

reference: page ## docs/reference, from the code
	FACEOFF_WRITE_REFERENCE=1 $(CARGO) test --locked -p faceoff --bin faceoff reference::

bench: build ## our load generator beside its peers; FIGURES="closed --quick" for some of it
	$(CARGO) build --release --locked -p bench -p control
	target/release/bench $(FIGURES)

reality: build ## verdicts against known truth, twenty runs (resumable, about an hour)
	$(CARGO) build --release --locked -p bench -p control
	target/release/reality

capacity: build ## capacities against known truth, twenty searches (resumable, about forty minutes)
	$(CARGO) build --release --locked -p bench -p control
	target/release/limits

clean: ## what builds and runs have left
	rm -rf target conformance/java/target web/dist web/node_modules .faceoff
