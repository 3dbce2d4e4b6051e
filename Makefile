# Everything runs in .venv, which is made on first use and refreshed when pyproject.toml changes.
# Nothing is written outside this folder, pip's cache included.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check --cache-dir $(VENV)/cache

CASE := fixtures/lost-kernels

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench clean

help:
	@echo "make demo    compare two logs of one case"
	@echo "make test    run the tests"
	@echo "make lint    check style, types, layers, dependencies and rules"
	@echo "make bench   run the benchmarks"
	@echo "make clean   remove all that was made"

demo: $(VENV)/.installed
	@$(BIN)/logdiff compare $(CASE)/good/container.log $(CASE)/bad/container.log

test: $(VENV)/.development
	$(BIN)/python -m pytest

lint: $(VENV)/.development
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/logdiff rules check

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The marks are written last: where an installation breaks off, the next make starts it again.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "logdiff needs Python 3.11 or newer; make PYTHON=… names one")'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --editable .
	@$(BIN)/python -m compileall -q logdiff
	@touch $@

$(VENV)/.development: $(VENV)/.installed
	@$(PIP) install --editable '.[test,lint]'
	@touch $@
