# make demo   prune a bundled data set and show the result
# make test   run the whole test suite
# make lint   format, style and types
# make bench  measure learners and solvers against their peers
# make bench-valuation  measure data values against pyDVL, which gets an environment of its own
# make mutants  change single expressions of the mathematics and see whether the tests notice: an hour or two,
#             goes on where it ended; make mutants ROOM=optimize SAMPLE=200 for some of one room
# make coverage  the tests, and which lines they run
# make wheel  build the wheel, install it into an empty environment and prune a data set there
# make docs   the documentation site in build/docs: tutorials are run, warnings are errors
# make soak   kill runs, damage stores, stop servers, fill a disk, and compare with runs left alone
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEER := .venv-peer
ROOM ?=
SAMPLE ?=
ROUNDS ?= 5
SEED ?= 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# each core has a process of its own: threads beside it would wait for each other
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo test lint coverage docs wheel bench bench-valuation mutants soak clean
.DELETE_ON_ERROR:

demo: $(VENV)/.core
	$(BIN)/cdvm prune --dataset digits --keep 5% --keep 10% --keep 30% --test 20%

test: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m pytest -n auto --dist worksteal -q

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.bench
	$(BIN)/python -m perf.learners --out results/speed/learners.jsonl
	$(BIN)/python -m perf.trees --out results/speed/trees.jsonl
	$(BIN)/python -m perf.solvers --out results/speed/solvers.jsonl

bench-valuation: $(VENV)/.dev $(PEER)/.installed
	$(BIN)/python -m perf.valuation --out results/speed/values.jsonl

soak: $(VENV)/.soak
	$(BIN)/python -m soak --rounds $(ROUNDS) --seed $(SEED)

coverage: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m pytest -n auto --dist worksteal -q --cov=cdvm --cov-report=term --cov-report=html:build/coverage

# into an environment that has nothing else
wheel: $(VENV)/.dev
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/wheel/env
	build/wheel/env/bin/python -m pip install --quiet build/wheel/*.whl
	cd build/wheel && env/bin/cdvm prune --dataset wine --keep 10% --models 500 --out kept --report kept/report.html
	build/wheel/env/bin/cdvm --version

docs: $(VENV)/.docs
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m sphinx -W --keep-going -q docs build/docs
	@echo "Open build/docs/index.html"

mutants: $(VENV)/.mutants
	$(BIN)/python -m mutation $(ROOM) $(if $(SAMPLE),--sample $(SAMPLE))

clean:
	rm -rf $(VENV) $(PEER) mutants build dist

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "cdvm needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: pyproject.toml | $(VENV)/.python
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/.python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.core

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,bench]'
	@touch $@

$(VENV)/.soak: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,soak]'
	@touch $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/.python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	@touch $@

$(VENV)/.mutants: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,mutants]'
	@touch $@

# pyDVL needs NumPy 1
$(PEER)/.installed: perf/peer-requirements.txt
	$(PYTHON) -m venv $(PEER)
	$(PEER)/bin/python -m pip install --quiet -r $<
	@touch $@
