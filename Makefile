# One command each; every one makes .venv when it is not there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Tests start Python hundreds of times: each start reads compiled modules, whatever the caller's settings are.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-core check bench bench-gpu fuzz mutate figures screenshots docs wheels sbom release size lock matrix clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The base install, for users.
$(VENV)/base.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

# With everything that tests, checks and measurements need.
$(VENV)/dev.stamp: pyproject.toml lab/pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]" -e lab
	touch $@

demo: $(VENV)/base.stamp
	@rm -rf runs/demo
	$(BIN)/rejoinder score examples/chats.jsonl -o runs/demo
	@echo
	$(BIN)/rejoinder compare runs/demo -m aptness
	$(BIN)/rejoinder trust runs/demo --aspect appropriate
	$(BIN)/rejoinder report runs/demo
	@echo
	@echo "The results are in runs/demo, the report is runs/demo.html: open it in a browser."
	@echo "These are example conversations with example ratings: they show the tool and stand for no study."

# Files go to processes whole and in order, so that what the tests of a file share is made once.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

test: $(VENV)/dev.stamp
	$(PYTEST)

# The core by itself: an environment without the lab must pass all tests but those of the lab.
test-core: | $(BIN)/python
	$(PYTHON) -m venv .venv-core
	.venv-core/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	.venv-core/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --ignore=tests/lab -o pythonpath=.

check: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(PYTEST)

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

bench-gpu: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.gpu

fuzz: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.fuzz 20000

# Small changes of the source that tests should notice: how many, by which draw, how many at once.
N ?= 200
SEED ?= 13
WORKERS ?= 1
mutate: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.mutate -n $(N) --seed $(SEED) --workers $(WORKERS)

# The wheels of rejoinder and rejoinder-lab, and of each further set of weights that is here.
wheels: $(VENV)/dev.stamp
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .
	$(BIN)/python -m build --wheel --no-isolation --outdir dist lab
	for project in $(wildcard weights/*/pyproject.toml); do \
		$(BIN)/python -m build --wheel --no-isolation --outdir dist $$(dirname $$project) || exit 1; \
	done

# What is installed with rejoinder and what is in it, for tools that look for known problems (CycloneDX).
sbom: $(VENV)/dev.stamp
	$(BIN)/python -m tools.sbom dist/sbom.json

# What is published: the wheels, and beside them the bill of materials.
release: $(VENV)/dev.stamp
	rm -rf build dist
	$(MAKE) wheels sbom

# What the base install takes on disk, library by library; fails above the limit.
size: wheels
	$(BIN)/python -m tools.install_size

# The base install with the hashes of all wheels, for every Python and system.
lock: $(VENV)/dev.stamp
	$(BIN)/uv pip compile pyproject.toml -c constraints.txt --universal --python-version 3.11 --generate-hashes \
		--no-build --emit-build-options --no-annotate --quiet --custom-compile-command "make lock" -o requirements.txt

# Wheels for every Python, and the tests on each that is here: make matrix EXTRA=test TESTS=tests/test_bleu.py
EXTRA ?= dev
TESTS ?= -n auto
matrix: $(VENV)/dev.stamp
	EXTRA=$(EXTRA) $(BIN)/nox -- $(TESTS)

clean:
	rm -rf $(VENV) .venv-core .nox build lab/build dist site src/*.egg-info .mypy_cache .ruff_cache .pytest_cache

# Every figure that the docs quote, as docs/results has it today; make docs does the same.
figures: $(VENV)/dev.stamp
	$(BIN)/python -m tools.figures

# Pictures of the pages over the example data, for docs/: those that are missing.
screenshots: $(VENV)/dev.stamp
	$(BIN)/python -m tools.screenshots

# What code writes into docs/, then the site; anything that would mislead a reader ends it.
docs: $(VENV)/dev.stamp
	$(BIN)/python -m tools.build_docs
	$(BIN)/python -m rejoinder.data.datasets._page > docs/datasets.md
	$(BIN)/python -m tools.docsite site
