# The four verbs: demo, test, check, up. Each makes its own environment first; nothing needs to be installed by hand but
# Python 3.11 or newer. Options: FIRESTORE=embedded|official|auto; for demo also JOBS, USERS, MATCHES, SEED, EVENTS=on|off;
# for chaos DELIVERIES, SEED, MINUTES (of trouble at most), EVENTS, KEEP=folder.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FIRESTORE ?= embedded
USERS ?= 200
MATCHES ?= 2000
SEED ?= 1
DELIVERIES ?= 2000
MINUTES ?= 15
EVENTS ?= on

# One process more than there are processors: many a test waits for a server or a browser.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help chaos demo test bare unit check up bench lock clean bench-emulator fuzz

help: ## What can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/'

demo: $(VENV)/.ready ## Play a scene in which much goes wrong, and count what came of it
	@$(BIN)/python -m emulator demo --firestore $(FIRESTORE) --users $(USERS) --matches $(MATCHES) --seed $(SEED) --events $(EVENTS) $(if $(JOBS),--jobs $(JOBS))

chaos: $(VENV)/.ready ## Kill and fail everything for minutes, and hold what came of it against the promise
	@$(BIN)/python -m emulator.chaos --deliveries $(DELIVERIES) --seed $(SEED) --minutes $(MINUTES) --events $(EVENTS) $(if $(KEEP),--keep $(KEEP))

test: $(VENV)/.ready ## All tests
	$(PYTEST) --firestore $(FIRESTORE) $(TESTS)

bare: $(VENV)/.ready ## The demo and all tests where no Java, no gcloud and nothing else is on the PATH
	PATH=$(CURDIR)/$(BIN) $(BIN)/python -m emulator demo --users 60 --matches 300
	PATH=$(CURDIR)/$(BIN) $(PYTEST)

unit: $(VENV)/.ready ## The tests that need nothing running, in seconds
	$(BIN)/python -m pytest tests/unit

check: $(VENV)/.ready ## Format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --quiet tests/unit/test_house.py

up: $(VENV)/.ready ## The whole cloud on this machine, until Ctrl-C
	@$(BIN)/python -m emulator up --firestore $(FIRESTORE)

bench: $(VENV)/.ready ## Speed and cost, as ratios within one run: writes bench/results.md; options by BENCH="--rounds 3 cold"
	PYTHONPATH=functions $(BIN)/python -m bench $(BENCH)

bench-emulator: $(VENV)/.ready ## The embedded Firestore beside the official one, and the planning of a large audience
	$(BIN)/python -m bench.firestore
	PYTHONPATH=functions $(BIN)/python -m bench.planning

N ?= 100000
fuzz: $(VENV)/.ready ## The property tests and the model, long: N=1000000 examples each
	FUZZ=$(N) $(BIN)/python -m pytest --timeout 0 tests/fuzz tests/model

lock: $(VENV)/.ready ## Write the hashed requirements files anew from pyproject.toml
	$(LOCK) --output-file functions/requirements.txt
	$(LOCK) --group dev --constraint functions/requirements.txt --output-file requirements-dev.txt

LOCK = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --quiet

clean: ## Remove what was made here
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.ready: requirements-dev.txt
	$(PYTHON) -c 'import sys; sys.exit("ledgermail needs Python 3.11 or newer; name it: make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.txt
	@printf '#!/bin/sh\nPYTHONPATH="%s/functions" exec "%s/$(BIN)/python" -m ledgermail.cli "$$@"\n' '$(CURDIR)' '$(CURDIR)' > $(BIN)/ledgermail
	@chmod +x $(BIN)/ledgermail
	@touch $@
