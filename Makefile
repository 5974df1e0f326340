# Each target sets up what it needs, in .venv. It takes Python 3.11 or newer; a C compiler makes everything faster.
#   make test PYTHON=python3.12     to choose another Python

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
SOURCES := $(shell find src -name '*.py') setup.py pyproject.toml
PYTEST := $(BIN)/python -m pytest -q -n 2
# what runs once more interpreted: not the network, the laboratory and the command line, which are never compiled, and
# not what only explores longer
COMPILED_TESTS := $(addprefix tests/,kernel parts paper traces conformance group sim faults weak transform \
  check/test_state_counts.py check/test_known_results.py check/test_explorer_faults.py)
unexport PYTHONPATH

.PHONY: help demo test lint test-compiled test-interpreted bench soak chaos clean
.DELETE_ON_ERROR:

help:  ## say what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

demo: .venv/built  ## a jukebox shared by five nodes, live
	$(BIN)/congenial demo

test: lint test-compiled test-interpreted  ## lint, types, and the tests, compiled and interpreted

lint: .venv/tools  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test-compiled: .venv/built  ## the tests of the package as installed
	$(PYTEST)

test-interpreted: .venv/built  ## the tests of what is compiled, with the sources as they are
	PYTHONPATH=$(CURDIR)/src $(PYTEST) $(COMPILED_TESTS)

bench: .venv/built  ## how fast engine, checker and locks are, beside others
	@for script in benchmarks/*.py; do if grep -q __main__ $$script; then $(BIN)/python $$script || exit 1; fi; done

soak: .venv/built  ## five nodes, 200 tasks, cut connections, for five minutes
	$(BIN)/python tests/net/soak.py --seconds 300

SECONDS ?= 300
chaos: .venv/built  ## five nodes that are killed, stopped, cut off and slowed down: make chaos SECONDS=600 SEED=7
	$(BIN)/python tests/net/chaos.py --seconds $(SECONDS) --seed $(or $(SEED),1)

clean:  ## remove everything that make has made
	rm -rf .venv build src/*.egg-info

# -- set-up ----------------------------------------------------------------------------------------------

.venv/tools: pyproject.toml  # with all extras: the tests and benchmarks use them
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=...")'
	@echo "setting up .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -c 'import tomllib; data = tomllib.load(open("pyproject.toml", "rb")); p = data["project"]; \
	  print(*data["build-system"]["requires"], *p["dependencies"], *sum(p["optional-dependencies"].values(), []), sep="\n")' > .venv/wanted
	@$(PIP) -r .venv/wanted
	@touch $@

.venv/built: .venv/tools $(SOURCES)
	@echo "compiling the package (about a minute)"
	@rm -rf build
	@$(PIP) --no-build-isolation --no-deps --force-reinstall .
	@cd .venv && bin/congenial --version
	@touch $@
