# Everything a person or CI does with a clone. Each target makes the environment it needs in .venv, once.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BIN := .venv/bin
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; break; }; done)
ROOT_FLAG := $(if $(filter 0,$(shell id -u)),--allow-root)

.PHONY: help demo test proof bench lab lint format docs notebooks system clean

help:  ## Show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

demo: .venv/.embedded  ## Play a whole discussion on real input, on a NATS server of its own
	$(BIN)/python notebooks/demo.py

test: .venv/.dev system lint  ## Run all checks and tests
	$(BIN)/python -m pytest -m 'not alone' --numprocesses 2 --dist loadfile
	$(BIN)/python -m pytest -m alone

proof: .venv/.dev system  ## Run the sizes that make test leaves out
	$(BIN)/python -m pytest --timeout=3600 tests/proof

bench: .venv/.dev system  ## Measure against the budgets, peers in the same run
	$(BIN)/python -m pytest --timeout=3600 -s tests/bench

lab: .venv/.dev  ## Open JupyterLab on the first tutorial
	$(BIN)/jupyter lab $(ROOT_FLAG) notebooks/01-first-look.ipynb

lint: .venv/.dev  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.dev  ## Put style right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/.dev  ## Write the generated reference anew
	$(BIN)/python docs/generate.py

notebooks: .venv/.dev  ## Run the tutorials and keep their outputs
	$(BIN)/python docs/notebooks.py

system:  ## Install the Debian packages that some tests use, where that is possible
	@.ci/system

clean:  ## Remove the environment and all caches
	rm -rf .venv .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "kmnb needs Python 3.11 or newer; set PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv || { .ci/system python; $(PYTHON) -m venv --clear .venv; }

# One stamp for each extra; a changed pyproject.toml installs again.
.venv/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[$*]'
	@touch $@
