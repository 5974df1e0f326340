# Each target sets up what it needs, in .venv. It takes Python 3.11 or newer; a C compiler makes everything faster.
#   make test PYTHON=python3.12 VENV=.venv-3.12     to use another Python

PYTHON ?= python3
PYTHONS ?= python3.11 python3.12 python3.13
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
SOURCES := $(shell find src -name '*.py' -o -path '*/studio/page/*') setup.py pyproject.toml README.md
# For two cores: the third worker has work while tests of the network wait.
PYTEST := $(BIN)/python -m pytest -q -n 3 --dist worksteal
# What one message of a lock runs through is compiled as well (COMPILED_TOO in setup.py). These are the tests of it.
LOCK_TESTS := $(patsubst %,tests/net/test_net_%.py,codec doors fences lease_rules lease_schedules links lock_objects locks \
  many_locks own_homes queue seats semaphores tries viewed)
# Tests of what is compiled run once more interpreted, some of them in `make test` and the rest in `make test-deep`.
# The laboratory, the command line and most of the network are never compiled.
INTERPRETED_QUICK := $(addprefix tests/,kernel paper traces sim checker/test_explorer_faults.py test_public_api.py)
INTERPRETED_REST := $(addprefix tests/,parts conformance group faults weak transform checker/test_state_counts.py \
  checker/test_known_results.py) $(LOCK_TESTS)
# The tests that test-pythons runs. By default all of them compiled, and as plain Python those above and tests/cli.
PYTHON_TESTS ?=
# Without files of byte code, every process of the tests would compile them all again.
unexport PYTHONPATH PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-deep test-pythons test-python lint test-compiled test-interpreted bench reproductions soak chaos mutants docs clean
.DELETE_ON_ERROR:

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

demo: $(VENV)/built  ## a jukebox shared by five nodes, live
	$(BIN)/congenial demo

test: lint test-compiled test-interpreted  ## lint, types, and the quick tests, compiled and interpreted

lint: $(VENV)/tools  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test-compiled: $(VENV)/tools $(VENV)/built  ## the quick tests of the installed package
	$(PYTEST) -m "not deep"

test-interpreted: $(VENV)/tools $(VENV)/built  ## quick tests of the compiled rooms, with the sources as they are
	PYTHONPATH=$(CURDIR)/src $(PYTEST) -m "not deep" $(INTERPRETED_QUICK)

test-deep: $(VENV)/tools $(VENV)/built  ## the long explorations that make test leaves out, compiled and interpreted
	$(PYTEST) -m deep
	PYTHONPATH=$(CURDIR)/src $(PYTEST) -m deep $(INTERPRETED_QUICK)
	PYTHONPATH=$(CURDIR)/src $(PYTEST) $(INTERPRETED_REST)

# pyenv's commands find a version only if it is named.
test-pythons:  ## the quick tests with each of PYTHONS that is installed, compiled and as plain Python
	@set -e; \
	if command -v pyenv >/dev/null; then \
	  export PYENV_VERSION="$$(pyenv version-name):$$(pyenv versions --bare | grep -E '^3\.1[1-9]' | paste -sd:)"; \
	fi; \
	for python in $(PYTHONS); do \
	  if $$python -c '' 2>/dev/null; then $(MAKE) test-python PYTHON=$$python VENV=.venv-$$python; \
	  else echo "$$python is not installed: not tested"; fi; \
	done

test-python: $(VENV)/tools $(VENV)/built
	$(PYTEST) -m "not deep" $(PYTHON_TESTS)
	@rm -rf $(VENV)/built build/lib
	CONGENIAL_PURE=1 $(PIP) --no-build-isolation --no-deps --force-reinstall .
	@cd $(VENV) && bin/congenial --version
	$(PYTEST) -m "not deep" $(or $(PYTHON_TESTS),$(INTERPRETED_QUICK) $(INTERPRETED_REST) tests/cli)

bench: $(VENV)/tools $(VENV)/built  ## how fast engine, checker and locks are, beside others
	@for script in benchmarks/*.py; do if grep -q __main__ $$script; then $(BIN)/python $$script || exit 1; fi; done

JOBS ?= 1
reproductions: $(VENV)/tools $(VENV)/built  ## run all experiments again, and make their pages: make reproductions JOBS=2
	nice -n 19 $(BIN)/congenial reproduce all --docs docs --jobs $(JOBS)
	nice -n 19 $(BIN)/python docs/choosing/make.py
	$(PYTEST) tests/lab/test_paper_pages.py
	$(PYTEST) tests/test_docs.py -k choosing

soak: $(VENV)/tools $(VENV)/built  ## five nodes, 200 tasks, cut connections, for five minutes
	$(BIN)/python tests/net/soak.py --seconds 300

SECONDS ?= 300
chaos: $(VENV)/tools $(VENV)/built  ## five nodes that are killed, stopped, cut off and slowed down: make chaos SECONDS=600 SEED=7 ALGORITHM=home-gme+epochs
	$(BIN)/python tests/net/chaos.py --seconds $(SECONDS) --seed $(or $(SEED),1) $(addprefix --algorithm ,$(ALGORITHM))

mutants: $(VENV)/tools $(VENV)/built  ## change the algorithms, one change at a time; checks must notice: make mutants JOBS=2 FILE=maekawa
	$(BIN)/python tests/mutation/run.py --jobs $(JOBS) $(addprefix --file ,$(FILE))

docs: $(VENV)/tools  ## the documentation as a web site, in build/site; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --config-file site/mkdocs.yml
	@echo "build/site/index.html"

clean:  ## remove everything that make has made
	rm -rf .venv .venv-* .mutants build src/*.egg-info

# -- set-up ----------------------------------------------------------------------------------------------

# The demo needs only the package itself; tests and benchmarks use all extras.
$(VENV)/basics: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=...")'
	@echo "setting up $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import tomllib; data = tomllib.load(open("pyproject.toml", "rb")); p = data["project"]; \
	  basics = data["build-system"]["requires"] + p["dependencies"]; extras = sum(p["optional-dependencies"].values(), []); \
	  [open("$(VENV)/" + name, "w").write("\n".join(wanted)) for name, wanted in dict(needed=basics, wanted=extras).items()]'
	@$(PIP) -r $(VENV)/needed
	@touch $@

$(VENV)/tools: $(VENV)/basics
	@echo "installing what tests and benchmarks use"
	@$(PIP) -r $(VENV)/wanted
	@touch $@

# What has been compiled stays in build/, so only what has changed is compiled again; what is only copied is copied
# again, without the files that are gone. Without a C compiler the package is installed as plain Python. The wheel is not
# compressed.
$(VENV)/built: $(VENV)/basics $(SOURCES)
	@echo "building the package: on two cores about 90 seconds the first time, and about 10 after a small change"
	@rm -rf build/lib* build/bdist* $(VENV)/wheel
	@if command -v $${CC:-cc} >/dev/null; then export CONGENIAL_COMPILED=1; fi; $(BIN)/python -c \
	  'from setuptools.build_meta import build_wheel; \
	  build_wheel("$(VENV)/wheel", {"--global-option": "-q", "--build-option": "--compression=stored"})'
	@$(PIP) --no-deps --force-reinstall $(VENV)/wheel/*.whl
	@cd $(VENV) && bin/congenial --version
	@touch $@
