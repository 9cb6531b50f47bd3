.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Else each of the hundreds of processes of the tests compiles the same sources.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo banner docs test check lint types imports tools client
.PHONY: lock bytecode faults cluster gossip browsers crowds passes claims format clean deploy

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "devote needs Python 3.11 or later; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# uv installs in a fifth of the time, but asks only the public index unless told otherwise.
LOCK := requirements-dev.txt
$(VENV)/.ready: pyproject.toml $(LOCK) | $(BIN)/python
	@echo "Installing into $(VENV) (half a minute or so the first time) ..."
	@$(PIP) 'uv>=0.9,<1' && \
		$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(LOCK) || \
		$(PIP) --no-compile --require-hashes -r $(LOCK)
	@$(PIP) --no-deps -e .
	@touch $@

lock: $(BIN)/python ## pin the newest versions that pyproject.toml allows, with their hashes
	@$(PIP) 'uv>=0.9,<1'
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --upgrade --extra dev pyproject.toml -o $(LOCK)

# Some packages ship templates that do not compile. Tests need not wait: what they import is compiled
# while types are checked.
$(VENV)/.compiled: $(VENV)/.ready
	@$(BIN)/python -m compileall -qq -j 0 -x /tests/ $(VENV)/lib || true
	@touch $@

# What a demonstration needs, a twentieth of what development does; `make setup` adds the rest later.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "Installing into $(VENV) ..."
	@$(PIP) -e '.[cli,serve,fleet]'
	@touch $@

setup: $(VENV)/.compiled ## create .venv with everything for development

DEMO := $(if $(wildcard $(VENV)/.ready),$(VENV)/.ready,$(VENV)/.demo)

demo: $(DEMO) ## the main job, narrated; in a terminal its page stays until Enter
	@$(BIN)/devote demo

banner: $(DEMO) ## a shop whose visitors' browsers find its best banner, and the experiment's page
	@$(BIN)/python examples/banner/run.py

lint: $(VENV)/.ready
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/.ready
	@$(BIN)/mypy

imports: $(VENV)/.ready
	@$(BIN)/lint-imports

check: lint types imports ## fast: lint, types, import contract, quick tests
	@$(BIN)/pytest -q -n 2 -m "not slow and not browser"

PACKAGES := chromium nodejs nginx-light iproute2 systemd
TOOLS := Some tests need $(PACKAGES): sudo apt-get install $(PACKAGES)

# Without them these tests are skipped, or fail if CI is set; all others run.
tools:
	@export PATH="$$PATH:/usr/sbin"; \
	if which chromium node nginx ip systemd-analyze >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing $(PACKAGES), with which some tests run ..."; \
		{ apt-get update -qq && \
			apt-get install -y -qq --no-install-recommends $(PACKAGES); } >/dev/null 2>&1 || \
			echo "$(TOOLS)"; \
	else echo "$(TOOLS)"; fi

# Only whoever changes clients/js needs npm: the built client is committed. Without it two tests are skipped.
CLIENTS := clients/js clients/openfeature-web
client: $(CLIENTS:%=%/node_modules/.package-lock.json) docs/site/node_modules/.package-lock.json
clients/%/node_modules/.package-lock.json: clients/%/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix clients/$* --silent --no-audit --no-fund || true; fi

# What each worker would compile for itself, while the other core checks types.
bytecode: $(VENV)/.ready
	@$(BIN)/pytest --collect-only -qq >/dev/null 2>&1 || true  # the tests tell what is wrong

test: $(VENV)/.ready ## everything, the slow statistical part included
	@$(MAKE) --no-print-directory -j 2 types bytecode lint imports tools client
	@$(BIN)/pytest -n 4 --dist worksteal  # more than cores: many tests wait for processes

faults: setup ## the long fault runs: 20,000 fleets in memory, surveys over HTTP: 5,000 devices, 30,000 in segments
	@$(BIN)/python -m tests.device.fault_run 20000
	@$(BIN)/python -m tests.device.survey_run --devices 5000 --kills 40
	@$(BIN)/python -m tests.device.segments_run --devices 30000

cluster: setup ## the long run of three NATS nodes and two servers, killed, paused and cut off
	@$(BIN)/python -m tests.server.cluster_run --kills 60

gossip: setup ## devices without a server: 50 partitions and 50 kills, 100 devices, hostile peers
	@$(BIN)/python -m tests.gossip.run --devices 32 --cuts 50
	@$(BIN)/python -m tests.gossip.run --devices 100 --cuts 3
	@$(BIN)/python -m tests.gossip.hostile

browsers: setup tools ## the long runs in Chromium: 40 browsers and 3,000 devices, faults, what leaves
	@$(BIN)/python -m tests.browser.crowd_run --browsers 40 --devices 3000
	@$(BIN)/python -m tests.browser.fault_run --visitors 24 --faults 400 --browsers 8
	@$(BIN)/python -m tests.browser.what_leaves --runs 500
	@$(BIN)/python -m tests.browser.what_leaves --runs 500 --by segment
	@$(BIN)/python -m tests.browser.choose_time
	@$(BIN)/python -m tests.browser.leaving_run

crowds: setup ## thousands of streams under a small file limit, a log of 300,000 votes
	@$(BIN)/python -m tests.server.crowd --streams 2000 --idle 3000 --files 1024
	@$(BIN)/python -m tests.boards.long_log --votes 300000

passes: setup ## the long comparison of the engines: every subroutine in every scheme
	@$(BIN)/python -m pytest -q -m slow tests/simulator/test_passes.py

# Without npm the formulas of the proofs stay as they are written.
docs/site/node_modules/.package-lock.json: docs/site/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix docs/site --silent --no-audit --no-fund || true; fi

docs: setup docs/site/node_modules/.package-lock.json ## the site, in build/site/index.html; reading it needs no network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "build/site/index.html"

claims: setup ## the paper again: docs/claims.* and docs/figures, in minutes
	@$(BIN)/python -m scripts.pages

deploy: setup ## deploy/compose.yaml without containers: each of its commands as a process
	@$(BIN)/python -m tests.deploy.by_hand

format: setup ## rewrite the sources in the house style
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean: ## remove what make created
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
