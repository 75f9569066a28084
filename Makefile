# Two commands do everything: `make run` and `make test`. Python 3.11+ is all they need.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PROTO := src/midwatch/llm/grpc/proto/llm/v1/llm.proto
RUN_ARGS ?=
PROCESSES ?= 3

.DEFAULT_GOAL := help
.PHONY: help install run format check test coverage chaos mutate bench picture lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP) ## Build the environment in .venv

$(STAMP): requirements.lock requirements-dev.lock pyproject.toml hatch_build.py $(PROTO)
	@test -n "$(PYTHON)" || { echo "Midwatch needs Python 3.11 or newer with venv; set PYTHON=/path/to/python3"; exit 1; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || { rm -rf $(VENV); $(PYTHON) -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

run: install ## Investigate a made-up alert about this machine, then serve on http://localhost:8080
	@$(BIN)/midwatch demo $(RUN_ARGS)

format: install ## Rewrite the code in house style
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

check: install ## Format, lint, types, import contracts and the safety checklist: what CI runs
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.checklist

test: install ## All tests: unit, database, API, safety and process tests
	$(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist worksteal

coverage: install ## Fail unless the safety tests take every branch of the safety code and the gate
	$(BIN)/python -m coverage run -m pytest tests/safety -m "not hypothesis"
	$(BIN)/python -m coverage report

chaos: install ## Kill, freeze, cut off and restart at random; see that every promise holds (CHAOS_ARGS="--seeds 200")
	$(BIN)/python -m tests.chaos $(CHAOS_ARGS)

mutate: install ## Change the gate and the safety code a little, many times over, and see that a test notices (15 minutes)
	$(BIN)/python scripts/mutate.py $(MUTATE_ARGS)

bench: install ## Benchmarks, as ratios against a floor measured in the same run
	$(BIN)/python -m benchmarks

picture: install ## Draw docs/images/demo.svg anew from a real run
	$(BIN)/python scripts/picture.py

lock: install ## Compile the hashed requirement files anew
	$(BIN)/python scripts/lock.py

clean: ## Remove the environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .coverage dist
