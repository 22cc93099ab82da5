# Needs make and Python 3.11 or newer with venv; everything else goes into .venv.
PYTHON ?= python3
SEEDS ?= 2000
FROM ?= 0
PORT_BASE ?= 8000
FOLDER ?= build/shop
STORE ?=
TRANSPORT ?=
MINUTES ?= 10
JOBS ?= 1
PEERS ?=
LONG ?=
NOTE ?=

# An option with what somebody gave for it, whatever that is.
given = --$(1)='$(subst ','\'',$(2))'
RUN := .venv/bin/python
PIP := .venv/bin/python -m pip --quiet --disable-pip-version-check --no-input
COMPILE := build/lock/bin/uv --quiet pip compile --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header
AS_TESTED := --upgrade --constraint requirements/dev.txt
# A test that exceeds its time ends its worker; pytest-xdist 3.8 with --dist loadgroup waits for ever once it replaced one.
BOUNDED := --max-worker-restart 0

# The tests start hundreds of processes: each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

# Workers of tests with real servers, twice as many as cores: half of the time they wait for leases and for processes.
WAITERS = $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')

# The benchmarks of another Python than that of .venv have an environment of its own.
BENCH_ON := $(if $(filter-out python3,$(PYTHON)),build/pythons/$(subst /,_,$(PYTHON)))
BENCH := $(or $(BENCH_ON:%=%/bin/python),$(RUN))

.DELETE_ON_ERROR:
.PHONY: help demo shop test faults programs docs pictures bench bench-pages check style types simulate style-and-simulation shrink torture limits \
	mutants lock release npm-package record audit clean

help: ## print these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: .venv/ready.stamp $(if $(filter amqp10 activemq,$(TRANSPORT)),.venv/amqp10.stamp) ## run the order-processing example from end to end, and verify its books (STORE=sqlite|postgresql TRANSPORT=local|store|nats|rabbitmq|amqp10|activemq)
	@$(RUN) -m showcase $(call given,store,$(STORE)) $(call given,transport,$(TRANSPORT))

shop: .venv/ready.stamp $(if $(filter amqp10 activemq,$(TRANSPORT)),.venv/amqp10.stamp) ## keep that example running for a browser, until Ctrl-C (STORE=… TRANSPORT=… PORT_BASE=8000 FOLDER=build/shop)
	@$(RUN) -m examples.shop $(call given,store,$(STORE)) $(call given,transport,$(TRANSPORT)) \
		$(call given,port-base,$(PORT_BASE)) $(call given,folder,$(FOLDER))

# Types take as long as all other checks and the simulation together: each half keeps a core.
test: ## run every check, a short simulation, and every test that is not among the faults (real servers last)
	@$(MAKE) --no-print-directory -j 2 .venv/ready.stamp programs
	@$(MAKE) --no-print-directory .venv/amqp10.stamp
	@$(MAKE) --no-print-directory -j 2 --output-sync types style-and-simulation
	@$(RUN) -m pytest -m "not servers and not faults" -n logical --dist worksteal $(BOUNDED)
	@$(RUN) -m pytest -m "servers and not faults" -n $(WAITERS) --dist loadgroup $(BOUNDED)

# The tests simulate the 18 seeds before these.
style-and-simulation: style
	@$(RUN) -m simulation --seeds 40 --from 18

faults: .venv/ready.stamp programs .venv/amqp10.stamp ## run the tests that take long: deaths everywhere, real brokers that are hurt, the example over them
	@CI=true $(RUN) -m pytest -n 3 -m faults $(BOUNDED)

programs:
	@tests/install-programs

docs: build/docs/ready.stamp ## build the documentation's site in build/site, and check its links
	@NO_MKDOCS_2_WARNING=1 build/docs/bin/mkdocs build --strict --quiet
	@echo "build/site/index.html"

pictures: .venv/ready.stamp ## take the pictures of the console in docs/images/console anew (needs Chromium)
	@$(RUN) -m showcase.pictures

bench: .venv/ready.stamp .venv/amqp10.stamp $(if $(BENCH_ON),$(BENCH_ON)/ready.stamp) $(if $(PEERS),build/peers/ready.stamp) ## run the benchmarks (STORE=sqlite or postgresql PYTHON=python3.14), or compare with other products (PEERS=all or some; LONG=1 NOTE=…)
	@$(if $(PEERS),$(BENCH) -m benchmarks.comparison $(PEERS) $(if $(LONG),--long) $(if $(NOTE),$(call given,note,$(NOTE))),$(BENCH) -m \
		benchmarks $(call given,store,$(or $(STORE),sqlite)))

bench-pages: .venv/ready.stamp build/docs/ready.stamp ## write the tables and plots of the last comparison into README.md and docs
	@$(RUN) -m benchmarks.comparison.pages
	@build/docs/bin/python -m benchmarks.comparison.plots

check: style types ## format, lint, types, import contracts, whether the mutants fit the code

style: .venv/ready.stamp
	@.venv/bin/ruff format --check --quiet
	@.venv/bin/ruff check --quiet
	@.venv/bin/lint-imports
	@$(RUN) -m pytest -q -n 0 tests/mutants/test_catalogue.py

types: .venv/ready.stamp
	@.venv/bin/mypy

simulate: .venv/ready.stamp ## simulate what once broke, then SEEDS=2000 seeds from FROM=0 on
	@$(RUN) -m simulation --corpus tests/simulation/corpus --seeds $(SEEDS) --from $(FROM)

shrink: .venv/ready.stamp ## find the smallest world in which SEED=… still breaks, and print its timeline
	@$(RUN) -m simulation.shrink $(call given,seed,$(SEED))

torture: .venv/ready.stamp $(if $(filter amqp10 activemq,$(TRANSPORT)),.venv/amqp10.stamp) ## end, stop and cut off real processes on a PostgreSQL pair for MINUTES=10 minutes (SEED=… TRANSPORT=nats|rabbitmq|amqp10|activemq|store, with PARTITIONS=2 STORE=postgresql|sqlite, or PARTITIONS=1 STORE=sqlite)
	@$(RUN) -m $(if $(PARTITIONS),torture.partitions $(call given,partitions,$(PARTITIONS)) \
		$(if $(STORE),$(call given,store,$(STORE))),torture) \
		$(call given,minutes,$(MINUTES)) $(if $(SEED),$(call given,seed,$(SEED))) \
		$(if $(TRANSPORT),$(call given,transport,$(TRANSPORT)))

limits: .venv/ready.stamp ## kill and restart four processes under load for MINUTES=10 minutes, and count the calls that run at once (STORE=sqlite|postgresql TRANSPORT=store|nats)
	@$(RUN) -m torture.limits $(call given,minutes,$(MINUTES)) $(if $(STORE),$(call given,store,$(STORE))) \
		$(if $(TRANSPORT),$(call given,transport,$(TRANSPORT)))

mutants: .venv/ready.stamp programs ## change the code wrongly, one of mutants/catalogue at a time, and see that tests find it (AREA=… ONLY=… JOBS=1)
	@$(RUN) -m mutants $(call given,jobs,$(JOBS)) $(if $(AREA),$(call given,area,$(AREA))) $(if $(ONLY),$(call given,only,$(ONLY)))

lock: ## choose the newest allowed versions anew: requirements/*.txt
	@$(PYTHON) -m venv --clear build/lock
	@build/lock/bin/python -m pip --quiet --disable-pip-version-check --no-input install 'uv==0.13.*'
	@$(COMPILE) --upgrade --extra http --group dev --output-file requirements/dev.txt pyproject.toml
	@$(COMPILE) $(AS_TESTED) --extra apprise --extra console --extra http --extra large-payloads --extra postgres --extra nats --extra rabbitmq \
		--extra telemetry --output-file requirements/runtime.txt pyproject.toml
	@$(COMPILE) $(AS_TESTED) --group build --output-file requirements/build.txt
	@$(COMPILE) $(AS_TESTED) --group example --output-file requirements/example.txt
	@$(COMPILE) --upgrade --group peers --output-file requirements/peers.txt
	@$(COMPILE) --upgrade --group docs --output-file requirements/docs.txt
	@$(COMPILE) --upgrade --group deploy --output-file requirements/deploy.txt
	@$(COMPILE) $(AS_TESTED) --group amqp10 --output-file requirements/amqp10.txt

release: .venv/ready.stamp ## build the packages of this version in dist, with bill of materials and checksums (KEY=… signs them with a key of ssh)
	@$(RUN) -m deploy.release $(if $(KEY),$(call given,key,$(KEY)))

npm-package: programs ## build the npm package of Agents in Node in build/npm-package (STEPWARD_REPOSITORY=… names its repository)
	@$(RUN) -m deploy.release.npm_package

record: .venv/ready.stamp ## write stores of this version with tasks under way, which the versions after it are tested with
	@$(RUN) -m tests.store.migrated.record

audit: requirements/runtime.txt ## look the pinned packages of the images up among known vulnerabilities
	@$(PYTHON) -m venv --clear build/audit
	@build/audit/bin/python -m pip --quiet --disable-pip-version-check --no-input install 'pip-audit==2.*'
	@build/audit/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements/runtime.txt

clean: ## remove what was built, .venv included
	@rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find src tests servers examples showcase benchmarks simulation torture mutants -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# A new lock makes a new environment; a changed pyproject.toml only installs the package again. A third of pip's time went
# into compiling modules of which a quarter is ever imported.
.venv/packages.stamp: requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Stepward needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	@echo "Setting up .venv"
	@$(PYTHON) -m venv --clear .venv
	@$(PIP) install --no-compile --require-hashes -r requirements/dev.txt
	@touch $@

.venv/ready.stamp: .venv/packages.stamp pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

# What builds the documentation has an environment of its own.
# The client of AMQP 1.0 is built from its source, which needs a C compiler.
.venv/amqp10.stamp: requirements/amqp10.txt | .venv/packages.stamp
	@if $(PIP) install --no-compile --require-hashes -r requirements/amqp10.txt; then touch $@; else \
		echo "tests over AMQP 1.0 need python-qpid-proton, which pip did not build: they will be skipped" >&2; fi

build/docs/ready.stamp: requirements/docs.txt .venv/packages.stamp
	@echo "Setting up build/docs"
	@$(RUN) -m venv --clear build/docs
	@build/docs/bin/python -m pip --quiet --disable-pip-version-check --no-input install --require-hashes -r requirements/docs.txt
	@touch $@

build/pythons/%/ready.stamp: requirements/dev.txt pyproject.toml
	@echo "Setting up build/pythons/$*"
	@$(PYTHON) -m venv --clear build/pythons/$*
	@build/pythons/$*/bin/python -m pip --quiet --disable-pip-version-check --no-input install --no-compile --require-hashes -r requirements/dev.txt
	@build/pythons/$*/bin/python -m pip --quiet --disable-pip-version-check --no-input install --no-deps --no-build-isolation -e .
	@touch $@

# What is measured beside Stepward has an environment of its own; without npm a run reports that Restate is missing.
build/peers/ready.stamp: requirements/peers.txt benchmarks/npm/package-lock.json .venv/packages.stamp
	@echo "Setting up build/peers"
	@$(RUN) -m venv --clear build/peers
	@build/peers/bin/python -m pip --quiet --disable-pip-version-check --no-input install --require-hashes -r requirements/peers.txt
	@mkdir -p build/peers/npm && cp benchmarks/npm/package.json benchmarks/npm/package-lock.json build/peers/npm/
	@cd build/peers/npm && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null || \
		echo "npm did not install the server of Restate" >&2
	@touch $@
