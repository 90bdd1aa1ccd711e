# Every command a contributor needs. `make help` lists them.
# Only python3 (3.11 or newer) with pip, and make, have to be there; `make env` fetches the rest into this directory.

PYTHON ?= python3
SEEDS ?= 200
N ?= 1000000
DATA ?= .windlass-seeded
# Tests run side by side, as most of them wait for others; on a database that is given to them, one by one.
JOBS ?= $(if $(TEST_DATABASE_URL),0,3)

# Say what is done, not how; and never replace the Python of this machine by a downloaded one.
export UV_PYTHON_DOWNLOADS := never
export UV_LINK_MODE ?= copy
# Trust whom this machine trusts, where it says so: behind a company's proxy nothing else works.
ifneq ($(wildcard /etc/ssl/certs/ca-certificates.crt),)
export UV_SYSTEM_CERTS ?= true
endif
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# An activated environment of another project must not catch what is meant for .venv.
unexport VIRTUAL_ENV PYTHONHOME PYTHONPATH CONDA_PREFIX
# Tests start thousands of processes: each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

UV := .tools/bin/uv
BIN := .venv/bin
DIST := dist
CODE := $(wildcard windlass tests bench examples hatch_build.py)
ENV_READY := .venv/windlass-env
UV_READY := .tools/windlass-uv

.DEFAULT_GOAL := help
.PHONY: help env up cluster test test-cgroup2 demo check sim chaos fleet fleet-chaos ui screenshots bench bench-cluster seed-runs load acceptance wheel lock clean FORCE

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

env: $(ENV_READY) ## make .venv with everything pinned and the web page built (does nothing when it is up to date)
	@$(BIN)/python hatch_build.py

up: env ## start the engine with the example workflows at 127.0.0.1:8080
	@exec $(BIN)/windlass up --examples

cluster: env ## start PostgreSQL and three nodes at 127.0.0.1:2551 to 2553, to kill -9 one of them
	@exec $(BIN)/python -m windlass.local_cluster

test: env ## prove everything: format, lint, types, then all tests, JOBS=3 at a time
	$(lint)
	@$(BIN)/python -m tests.tools
	$(BIN)/python -m pytest --numprocesses $(JOBS)

test-cgroup2: env ## the sandbox under control groups of version 2: here, or in a virtual machine (minutes)
	@exec $(BIN)/python -m tests.vm

demo: env ## kill -9 the engine in the middle of a run, and watch the run finish
	@exec $(BIN)/python -m windlass.demo

check: env ## the quick part of test: format, lint, types, layers
	$(lint)
	$(BIN)/python -m pytest tests/test_layers.py

sim: env ## play SEEDS=200 simulated lives of one node and of many, with faults (NODES=one|many, SEED=7: that one)
	@exec $(BIN)/python -m windlass.sim $(if $(SEED),--seed $(SEED),--seeds $(SEEDS)) $(if $(NODES),--nodes $(NODES))

chaos: env ## kill, freeze, cut off and restart real nodes under 1,000 runs, then read the journal (minutes)
	@exec $(BIN)/python -m tests.cluster.chaos

fleet: env ## 2,000 workers lose their node at the same moment, and no other node falls
	@exec $(BIN)/python -m tests.fleet.reconnecting

fleet-chaos: env ## kill workers and nodes for ten minutes under 2,000 tasks, then read the journal
	@exec $(BIN)/python -m tests.fleet.chaos

bench: env ## measure, beside the ceiling of the store
	@exec $(BIN)/python -m bench

bench-cluster: env ## measure nodes over PostgreSQL: throughput of 1, 2, 3, latency, failover, distance to the ceiling
	@exec $(BIN)/python -m bench.cluster

seed-runs: env ## make a journal of N=1000000 finished runs in DATA=.windlass-seeded
	@exec $(BIN)/python -m bench.seed_runs $(N) --data $(DATA)

load: env ## 1,000 runs open at once for two minutes: no error, none lost, memory flat
	@exec $(BIN)/python -m bench.load

ui: env ## work on the web page: it is at 127.0.0.1:5173 and asks the engine at 127.0.0.1:8080 (make up)
	@cd ui && exec npm run dev

screenshots: env ## every page in light and dark, English and Chinese, wide and narrow, into build/screenshots (ONLY="run runs": these)
	@exec $(BIN)/python -m tests.ui.screenshots $(ONLY)

acceptance: env ## which test or benchmark proves which requirement
	@exec $(BIN)/python -m tests.acceptance

wheel: env ## build the wheel into dist/, and the web page in it, with the pinned tools
	@$(BIN)/python hatch_build.py --must
	$(BIN)/python -m hatchling build -t wheel -d $(DIST)

lock: $(UV_READY) ## write the pins anew from pyproject.toml (UPGRADE=1 takes the newest versions)
	$(pin) pyproject.toml --output-file requirements.txt
	$(pin) pyproject.toml --group dev --constraints requirements.txt --output-file requirements-dev.txt
	$(pin) --group tools --output-file requirements-tools.txt
	$(pin) --group node --output-file requirements-node.txt

clean: ## remove what these commands made, except the data in .windlass
	rm -rf .venv .tools build dist ui/node_modules windlass/gateway/page/ui .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

define lint
$(BIN)/ruff format --check $(CODE)
$(BIN)/ruff check $(CODE)
$(BIN)/mypy --strict $(CODE)
endef

# One set of pins for every supported Python; hashes, but no addresses of where the packages lie.
pin = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
  --no-emit-index-url --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

fail = { echo "$(1)" >&2; exit 1; }
need_python = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || $(call fail,$(OLD_PYTHON))
OLD_PYTHON := Windlass needs Python 3.11 or newer and $(PYTHON) is not. Install one or name it: make env PYTHON=python3.12

# Debian's Python neither takes packages for itself nor always brings venv, so pip puts uv into a directory of ours.
$(UV_READY): requirements-tools.txt
	@$(need_python)
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || $(call fail,Windlass needs pip for $(PYTHON). On Debian: apt install python3-pip)
	@echo "Fetching tools into .tools ..."
	@$(PYTHON) -m pip install --quiet --upgrade --target .tools --require-hashes -r requirements-tools.txt
	@touch $@

# The stamp holds the directory it was made in: a copied or moved tree must not run the code of the old place.
ifneq ($(strip $(file < $(ENV_READY))),$(CURDIR))
$(ENV_READY): FORCE
endif
$(ENV_READY): $(UV_READY) requirements-dev.txt pyproject.toml
	@$(need_python)
	@echo "Making .venv with $$($(PYTHON) --version) ..."
	@[ "$$(cat $@ 2>/dev/null)" = "$(CURDIR)" ] || $(UV) venv --quiet --clear --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv
	@$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements-dev.txt
	@WINDLASS_NO_UI=1 $(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@echo "$(CURDIR)" > $@
