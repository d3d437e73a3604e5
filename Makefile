# Every target can be run again and again; `make demo` is the place to start.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
TORCH ?= torch==2.13.0

.PHONY: help demo test test-all test-engines lint bench gpu-check clean

help:
	@echo "make demo          install into $(VENV), lint examples/, show a layout"
	@echo "make test          install what the tests need and run the quick ones"
	@echo "make test-all      the slow ones as well: wheel, fuzz, long properties"
	@echo "make test-engines  install vLLM and SGLang for the CPU below .engines/, compare with them"
	@echo "make lint          ruff, mypy, import contracts, our own hook on examples/"
	@echo "make bench         measure start-up and throughput"
	@echo "make gpu-check     check and measure on a CUDA device; prints JSON"

# A system-wide torch is used where there is one: it is large, and often built for the machine.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("promptlint needs Python 3.11 or later") if sys.version_info < (3, 11) else None'
	@if $(PYTHON) -c 'import torch' 2>/dev/null; then shared=--system-site-packages; fi; \
	  $(PYTHON) -m venv $$shared $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml requirements-test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements-test.txt -e .
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml requirements-test.txt
	@if $(BIN)/python -c 'import torch' 2>/dev/null; then torch=; else torch="$(TORCH)"; fi; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-test.txt $$torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

demo: $(VENV)/.demo
	@echo '$$ promptlint check examples/bad'
	@$(BIN)/promptlint check --exit-zero --isolated examples/bad
	@echo
	@echo '$$ promptlint layout examples/bad/support.j2'
	@$(BIN)/promptlint layout --isolated examples/bad/support.j2

test: $(VENV)/.test
	$(BIN)/python -m pytest -q $(ARGS)

test-all: $(VENV)/.test
	$(BIN)/python -m pytest -q -m "not gpu and not engines" $(ARGS)

# Installs several GB below .engines/ the first time.
test-engines:
	$(PYTHON) tools/engines.py $(ARGS)

# Needs torch alone, so that it runs on a bare GPU machine too; under 8 minutes.
gpu-check:
	PYTHONPATH=.:runtime $(PYTHON) tools/gpu_check.py $(ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/mypy
	PYTHONPATH=.:runtime $(BIN)/lint-imports
	$(BIN)/promptlint check --config examples/accepted.toml examples

bench: $(VENV)/.test
	$(BIN)/python tools/bench.py $(ARGS)
	$(BIN)/python tools/bench_core.py

clean:
	rm -rf $(VENV) .promptlint_cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist build
