# One target for each thing a person does. Every target sets up what it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
SMOKE  := tests/math tests/objects tests/sampling tests/archive tests/voting/store tests/datasets tests/validity \
          tests/claims/test_certificate.py tests/claims/test_metrics.py tests/methods/test_smoothed.py tests/cli/test_cli.py tests/cli/test_cli_certify.py

.PHONY: help setup demo test test-slow test-oldest test-gpu lint format paper bench bench-gpu bench-compare release-check docs schemas pictures clean
.DEFAULT_GOAL := help
# Tests and commands start many processes: compiled modules are kept, so that each need not compile them again.
unexport PYTHONDONTWRITEBYTECODE

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

setup: $(READY)  ## create .venv with everything the other targets need

$(READY): pyproject.toml constraints.txt studies/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "starcert needs Python 3.11 or newer; call make with PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,all]' --editable ./studies
	@touch $@

demo: $(READY)   ## the paper's synthetic study, quick: noise, votes, certificates, and a page of pictures
	$(BIN)/starcert reproduce synthetic --quick --out build/demo

test: $(READY)   ## all tests but the slow studies
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

test-slow: $(READY) ## the slow studies: more noises, more classifiers, more repetitions
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m slow

test-gpu: $(READY) ## the tests that need a CUDA device
	$(BIN)/python -m pytest -m cuda -rP tests/device tests/sampling tests/classifiers

test-oldest:     ## a smoke test with the oldest versions that pyproject.toml admits, in .venv-oldest (no torch)
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --upgrade pip
	.venv-oldest/bin/python -m pip install --quiet --constraint constraints-oldest.txt '.[kernels,dask,plots,pandas,molecules]' grakel pytest pytest-xdist hypothesis loky
	.venv-oldest/bin/python -m pytest -n 2 -m "not slow" $(SMOKE)

lint: $(READY)   ## style, types, and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## rewrite the code in the project's style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

paper: $(READY)  ## every study, in full: about two hours on two cores
	$(BIN)/starcert reproduce all --out build/paper

bench: $(READY)  ## speed and memory, next to the straightforward way
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/gnn.py
	$(BIN)/python benchmarks/layers.py
	$(BIN)/python benchmarks/distinct.py
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/classifiers.py
	$(BIN)/python benchmarks/recording.py
	$(BIN)/python benchmarks/evidence.py
	$(BIN)/python benchmarks/threats.py
	$(BIN)/python benchmarks/exact.py

bench-gpu: $(READY) ## speed on a CUDA device, next to the obvious loop and to a roofline; nothing without one
	$(BIN)/python benchmarks/gpu.py
	$(BIN)/python benchmarks/layers.py --device cuda
	$(BIN)/python benchmarks/exact.py --device cuda

bench-compare: $(READY) ## a few benchmarks next to the last release, as ratios: warns of a change by 20%
	$(BIN)/python benchmarks/compare.py

release-check:   ## build wheel and source archive, and try them in empty environments (downloads packages)
	$(PYTHON) tests/release.py

docs: $(READY)   ## build the documentation, to be read from disk; build/markdown has it as plain Markdown
	$(BIN)/python docs/plain.py build/markdown
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open build/docs/index.html"

schemas: $(READY) ## write the JSON schemas in docs/schemas again, from the code
	$(BIN)/python docs/schemas.py

pictures: $(READY) ## draw the pictures of the README and the docs (needs chromium)
	$(BIN)/python docs/pictures.py

clean:           ## remove what the other targets made
	rm -rf $(VENV) .venv-oldest .pytest_cache .hypothesis .mypy_cache .ruff_cache build dist
