# Needs Python 3.11 or newer as PYTHON; everything else is installed into .venv here.
PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed
RUN := $(VENV)/bin/

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow check format clean

help:  ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

setup: $(INSTALLED)  ## install into .venv what the program and its tests need

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else f"Python {v[0]}.{v[1]} is too old; nmt needs 3.11 or newer: make setup PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(RUN)python -m pip install --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(INSTALLED)  ## train a small German translator and try it, in minutes
	$(MAKE) --no-print-directory -C recipes/demo NMT=../../$(RUN)nmt

test: check  ## check, then run the tests: minutes
	$(RUN)python -m pytest -n auto --dist loadfile

test-slow: $(INSTALLED)  ## run the slow tests: kills, whole chains
	$(RUN)python -m pytest -n auto --dist loadfile -m 'slow and not gpu'

check: $(INSTALLED)  ## lint, format and types
	$(RUN)ruff check
	$(RUN)ruff format --check
	$(RUN)mypy

format: $(INSTALLED)  ## put the code into its one format
	$(RUN)ruff check --fix
	$(RUN)ruff format

clean:  ## remove what was made, .venv and the demo's folders among it
	$(MAKE) --no-print-directory -C recipes/demo clean
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find nmt_cli tests -name __pycache__ -type d -prune -exec rm -rf {} +
