# `make demo` runs the main job, `make test` everything that must hold, `make quick` what a change most likely
# breaks, `make nightly` everything at length, `make docs` builds the documentation as a site. All create their own environment.

PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# processes of tests start faster with compiled modules
unexport PYTHONDONTWRITEBYTECODE
QUICK := tests/data tests/syntax tests/program tests/plan tests/maintain tests/engine/local tests/session tests/tables

.PHONY: demo test quick nightly editors docs lint types imports unit bench format clean

demo: $(READY)
	$(BIN)/python examples/access/demo.py

test: lint types imports unit

lint: $(READY)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports --no-cache

unit: $(READY)
	$(BIN)/pytest -n 2 --dist worksteal

# the tests of the core without Spark, in small sizes
quick: lint types imports
	TIDELOG_QUICK=1 $(BIN)/pytest -n 2 --dist worksteal -m "not spark" $(QUICK)

# the same tests in their large sizes: hours instead of minutes; ends with what was tried
nightly: $(READY) editors
	TIDELOG_NIGHTLY=1 $(BIN)/pytest -n 2 --dist worksteal

# the extension and the grammar with the libraries of VS Code; needs Node and npm
editors: $(READY)
	cd editors/tests && npm install --silent --no-package-lock && PYTHON=$(CURDIR)/$(BIN)/python npm test --silent

# build/site/index.html; strict: a broken link fails
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --group bench
	$(BIN)/python bench/parse.py
	$(BIN)/python -m bench.rule_changes
	$(BIN)/python -m bench --quick

format: $(READY)
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .

clean:
	rm -rf $(VENV) build dist out

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Tidelog needs Python 3.11 or later; set PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "This Python cannot make virtual environments; on Debian, install python3-venv"; exit 1; }
	@echo "installing into $(VENV)…"
	@$(BIN)/python -m pip install --quiet --upgrade pip==26.3
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --editable '.[spark]' --group dev
	@touch $@
