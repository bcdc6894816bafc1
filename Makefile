PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help lock
help: ## What can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/'

$(VENV)/.ready: requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	touch $@

UV := $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --quiet
lock: ## Write the hashed requirements files anew from pyproject.toml
	$(UV) --output-file functions/requirements.txt
	$(UV) --group dev --constraint functions/requirements.txt --output-file requirements-dev.txt
