# The commands of this repository. Everything goes through cargo, go, mvn and npm.

CARGO ?= cargo
# Optional features of the command, such as `make build FEATURES=serve,parquet` or FEATURES=full.
FEATURES ?=
FACEOFF = target/release/faceoff

.PHONY: build page demo systems check articles quick test test-all test-engines conformance lint
.PHONY: pictures release release-gateway reference bench reality capacity why-truth clean

build: ## the command, in target/release/faceoff
	$(CARGO) build --release --locked -p faceoff $(if $(FEATURES),--features $(FEATURES))

page: web/node_modules ## the report page that the command embeds, from web/ (needs Node)
	cd web && npm run --silent build

pictures: web/node_modules ## docs/pictures/*.jpg from a stored record, with CHROMIUM
	$(MAKE) build FEATURES=serve
	folder=$$(mktemp -d) && (cd web && CI=1 PICTURES=$$folder npm run --silent test:browser) && \
	  cp $$folder/page-*.jpg $$folder/serve-search.jpg $$folder/serve-over-time.jpg docs/pictures/ && \
	  rm -r $$folder

web/node_modules: web/package-lock.json
	cd web && npm ci --no-audit --no-fund --silent
	touch web/node_modules

demo: build ## a first answer: does a Go reverse proxy beat a Spring Boot one?
	$(FACEOFF) run reverse-proxy --quick

systems: build ## build every system
	$(FACEOFF) build

check: build ## check that every system, in every variant, gives correct responses
	$(FACEOFF) check --all --jobs 2
	.ci/unchanged systems --record

articles: build ## the experiments of the articles, in 6 hours at most, resumable, into results/
	scripts/articles

quick: ## formatting, lints and unit tests, for the loop before a commit
	scripts/lint --quick
	scripts/test --quick

test: ## the tests of every language, with one closing line
	scripts/test

test-all: ## the longer proofs as well
	scripts/test --all

test-engines: ## what needs the Docker engine and the cluster of the environment; records that it passed
	scripts/test --engines
	.ci/unchanged engines --record

conformance: ## real servers, every kind of response (part of test-all)
	$(CARGO) test --locked -p faceoff --test suite -- --ignored conformance::

lint: ## formatting and lints of every language
	scripts/lint

release: ## the files that users install without a compiler, in target/release-files
	scripts/release

release-gateway: ## the files of a gateway release, in target/release-gateway
	scripts/release-gateway

reference: ## docs/reference and the type of the report's data, from the code
	FACEOFF_WRITE_REFERENCE=1 $(CARGO) test --locked -p faceoff --bin faceoff reference::
	FACEOFF_WRITE_REFERENCE=1 $(CARGO) test --locked -p spec --lib reference::
	FACEOFF_WRITE_REFERENCE=1 $(CARGO) test --locked -p report --lib typescript::
	FACEOFF_WRITE_REFERENCE=1 $(CARGO) test --locked -p faceoff --test suite -- committed_schemas

bench: build ## our load generator next to its peers; FIGURES="closed --quick" for some of it
	$(CARGO) build --release --locked -p bench -p control
	target/release/bench $(FIGURES)

reality: build ## verdicts against known truth, twenty runs (resumable, about an hour)
	$(CARGO) build --release --locked -p bench -p control
	target/release/reality

capacity: build ## capacities against known truth, twenty searches (resumable, about forty minutes)
	$(CARGO) build --release --locked -p bench -p control
	target/release/limits

why-truth: build ## causes against known truth, forty comparisons (resumable, about forty minutes)
	$(CARGO) build --release --locked -p bench
	target/release/why_truth

clean: ## what builds and runs have left
	rm -rf target conformance/java/target web/node_modules .faceoff
