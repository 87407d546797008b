# Every target sets up what it needs in .venv and is quick when nothing changed.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
CORES ?= 2

.PHONY: setup demo docs notebooks gallery test test-long test-claims test-first-hour test-slow test-web lint bench retrain-check clean

setup: $(VENV)/.dev ## everything for users and developers, in .venv

$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: $(VENV)/.core ## trains, plays a league and writes a report, in minutes
	$(BIN)/python experiments/prisoners_dilemma/demo.py

# The fast tests compile much and compute little, so the compiler's costly passes are left out; its older
# emitters compile in a third of the time.
QUICK_COMPILE := --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true \
	--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1

test: $(VENV)/.dev ## the tests, in parallel
	XLA_FLAGS="$(QUICK_COMPILE) $(XLA_FLAGS)" $(BIN)/python -m pytest -n $(CORES) --dist worksteal

test-long: $(VENV)/.dev ## tests that take long each: settings that are felt, the pages on extending, exact learners
	XLA_FLAGS="$(QUICK_COMPILE) $(XLA_FLAGS)" $(BIN)/python -m pytest -n $(CORES) --dist worksteal -m "long and not slow"

test-claims: $(VENV)/.dev ## the claims of the zoo, and runs that are killed and go on
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal -m claims

test-first-hour: $(VENV)/.core ## what a newcomer types, from a wheel in an empty environment (PYTHONS: interpreters)
	XLA_FLAGS="$(QUICK_COMPILE) $(XLA_FLAGS)" $(BIN)/python tests/first_hour/run.py $(PYTHONS)

test-slow: $(VENV)/.dev ## the learning tests, which take minutes each
	$(BIN)/python -m pytest -n $(CORES) -m slow

$(VENV)/.web: $(VENV)/.dev
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[ui,web-tests]"
	touch $@

# Chromium is the system's, or CHROMIUM=PATH. Where it can be neither found nor installed, the tests are skipped.
test-web: $(VENV)/.web ## the browser application in headless Chromium, which is installed if that can be done
	sh tests/web/get_chromium.sh
	XLA_FLAGS="$(QUICK_COMPILE) $(XLA_FLAGS)" $(BIN)/python -m pytest -rs -m web tests/web

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	touch $@

docs: $(VENV)/.docs ## the documentation as a site in site/, warnings as errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo site/index.html

notebooks: $(VENV)/.dev ## runs the tutorials and keeps what they show (ONLY: some of them)
	$(BIN)/python -m docsite.run_notebooks $(ONLY)

gallery: $(VENV)/.dev ## the pictures of the gallery, from studies and commands (ONLY: some of them)
	$(BIN)/python -m docsite.gallery $(ONLY)

lint: $(VENV)/.dev ## formatting, style and types
	$(BIN)/pre-commit run --all-files

bench: $(VENV)/.dev ## speed: prints a table, writes JSON
	$(BIN)/python benchmarks/run.py

# ONLY=coin/adalign,negotiation/adalign chooses; what was stopped goes on where it was.
retrain-check: $(VENV)/.core ## one seed of each recipe of the zoo, trained with the code as it is, beside the committed player
	$(BIN)/comity reproduce retrain --out runs/retrain $(if $(ONLY),--only $(ONLY))

clean:
	rm -rf $(VENV) site build *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
