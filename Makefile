# `make` lists the targets. Every target that needs the environment makes it first.

VENV    := .venv
BIN     := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
STAMP   := $(VENV)/.installed
WORKERS ?= 2

SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help install venv demo test slow browser lint docs site pictures screenshots release bench constraints clean

# uv does not read pip's variable; pip separates with blanks, uv with commas.
ifneq ($(strip $(PIP_FIND_LINKS)),)
comma :=,
empty :=
space := $(empty) $(empty)
export UV_FIND_LINKS ?= $(subst $(space),$(comma),$(strip $(PIP_FIND_LINKS)))
endif

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP)  ## make .venv and install the package with its development tools

# The stamp makes the second time instant; a change of either file installs again.
$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/uv || $(MAKE) --no-print-directory venv
	$(BIN)/uv pip install --python $(BIN)/python --constraint constraints.txt --build-constraint constraints.txt \
	    --compile-bytecode --editable '.[dev]'
	@touch $@

# A name on the path may be a launcher with no interpreter behind it, so each candidate is run.
venv:
	@for python in $(PYTHON) python3.11 python3; do \
	    if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        set -ex; \
	        "$$python" -m venv $(VENV); \
	        $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv; \
	        exit; \
	    fi; \
	done; \
	echo "Python 3.11 or newer was not found. Install it, or name it: make install PYTHON=/path/to/python" >&2; exit 1

demo: install  ## compare two small real tables and find the outliers of a third, with pictures in demo/
	$(BIN)/fewratio demo

lint: install  ## style, types, import contracts and spelling
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/codespell -D - -D docs/words.txt README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs examples src benchmarks

# One thread for each worker: OpenMP threads that outnumber the cores slow a small step more than tenfold.
test slow browser: export OMP_NUM_THREADS = 1
test: lint  ## style, types and the quick tests
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m 'not browser and not slow'

slow: install  ## tests that take long and rarely fail
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m slow tests

browser: install  ## tests of the page and of reports in Chromium
	$(BIN)/pytest -n $(WORKERS) -m browser tests/browser

# Examples of the gallery run here; a warning, or an example that fails, is an error.
docs: export OMP_NUM_THREADS = 1
docs: install  ## build the documentation into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/_ext/check_links.py docs/_build/html

SITE ?= site
site: docs  ## put the built site into SITE, a folder with one folder per version
	$(BIN)/python docs/_ext/publish.py docs/_build/html $(SITE)

pictures: install  ## draw the pictures of the README and the site again, into docs/images
	$(BIN)/fewratio demo --output demo
	cp demo/compare.png demo/outliers.png docs/images
	$(BIN)/python -c 'import sys; from PIL import Image; [Image.open(path).convert("RGB").save(path, optimize=True) for path in sys.argv[1:]]' \
	    docs/images/compare.png docs/images/outliers.png
	$(BIN)/python benchmarks/sources.py --figure docs/images/sources.png
	$(BIN)/python docs/pictures.py

screenshots: install  ## pictures of every view of the page, in screenshots/
	$(BIN)/python benchmarks/screenshots.py

release: install  ## build what would be uploaded, check it, and run the demo where nothing else is installed
	$(BIN)/python .ci/release.py

bench: install  ## run the speed scripts in benchmarks/
	@set -e; for script in $(filter-out benchmarks/settings.py benchmarks/screenshots.py,$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python "$$script"; done

# torch is pinned by hand and without a local tag, so that a CPU build found by the installer satisfies it;
# what only the CUDA build needs is left for that build to name.
TORCH := 2.13.0
constraints: install  ## resolve constraints.txt again
	@set -euo pipefail; \
	resolved=$$(printf 'uv\nhatchling\n' | $(BIN)/uv pip compile --quiet --upgrade --all-extras --python-version 3.11 \
	    --no-header --no-annotate --constraint <(echo 'torch==$(TORCH)') pyproject.toml -); \
	{ echo '# The versions that `make install` uses, resolved for Python 3.11 by `make constraints`.'; \
	  sed -E '/^(nvidia|cuda|triton)/d; s/^(torch==[^+]+)\+.*/\1/' <<<"$$resolved"; } > constraints.txt

clean:  ## remove what can be made again, except .venv
	rm -rf build dist demo screenshots docs/_build docs/gallery docs/tutorial docs/reference/generated .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} +
