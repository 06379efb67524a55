# Every target does its own set-up: Python, make and the package registries are enough.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Compiled modules are kept even where the environment says otherwise: tests start many processes.
unexport PYTHONDONTWRITEBYTECODE
# Test workers: real kube-apiservers share the cores with the tests.
JOBS   ?= 2

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Fairlead needs Python 3.11 or newer; set PYTHON=/path/to/python3.11."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "The virtual environment could not be made; install Python's venv module."; exit 1; }

$(VENV)/.runtime: requirements/runtime.lock pyproject.toml $(VENV)/bin/python
	@echo "Installing the locked dependencies into $(VENV) ..."
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/runtime.lock
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.lock $(VENV)/.runtime
	@echo "Installing the locked tools into $(VENV) ..."
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@touch $@

demo: $(VENV)/.runtime ## a whole fleet in one command; Ctrl-C leaves nothing behind
	@$(BIN)/fairlead demo $(ARGS)

test: lint real ## everything: lint, types, imports, unit, contract (simulated and real), scenarios
	@$(BIN)/pytest -n $(JOBS) --dist loadgroup $(ARGS)

test-fast: lint ## the same without real parts and without what is slow, in under a minute
	@$(BIN)/pytest -n 3 --dist loadgroup -m "not real and not slow" $(ARGS)

lint: $(VENV)/.dev ## style, types, import direction
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/lint-imports
	@$(BIN)/mypy

format: $(VENV)/.dev ## put the code in order
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

real: $(VENV)/.dev ## build kube-apiserver, kube-controller-manager, kubectl and etcd, once
	@$(BIN)/python -m tests.real.build

bench: real ## measure; writes bench/results/*.json and docs/performance.md
	@$(BIN)/python -m bench $(ARGS)

crds: $(VENV)/.dev ## write deploy/crds from the resource types
	@$(BIN)/fairlead crds --output-dir deploy/crds

lock: $(VENV)/bin/python ## pin every dependency anew
	@$(BIN)/pip install -q --disable-pip-version-check uv
	@for set in dev runtime; do \
	  $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-header --upgrade --extra build \
	    $$( [ $$set = dev ] && echo "--extra dev --extra bench" || echo "-c requirements/dev.lock" ) \
	    pyproject.toml -o requirements/$$set.lock || exit 1; done

clean: ## forget the virtual environment and every cache in this folder
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.PHONY: help demo test test-fast lint format real bench crds lock clean
