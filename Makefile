# Two commands: `make demo` and `make test`. Both need Python 3.11 or newer with venv, and make the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements/dev.txt
BENCH := .venv-bench
EXAMPLES := $(filter-out %/demo.py %/digits_wrong.py %/shared.py,$(wildcard examples/*.py))
OLDEST := $(shell sed -n 's/^mypy = \["mypy>=\([0-9.]*\)".*/\1/p' pyproject.toml)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Tests start hundreds of processes, which would each compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
# Otherwise pyright looks for a newer version in a registry at each run.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# Otherwise mkdocs-material announces its end in 2027 at each build. The tests build with its successor as well.
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.PHONY: help demo examples test slow differential fire fuzz mutants oldest faults matrix oracle bench compare docs docs-pages docs-publish docs-check docs-serve jupyterlab
.PHONY: format lock dist release clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1: \2/p' Makefile

demo: $(VENV)/.ready ## check the examples with mypy, train on real digits
	@$(BIN)/python examples/demo.py

examples: $(VENV)/.ready ## run every example, and write the plots to build/plots
	@set -e; for file in $(EXAMPLES); do \
		echo "== $$file"; \
		$(BIN)/python $$file --plot build/plots/$$(basename $$file .py).png; \
	done

test: $(VENV)/.ready ## run everything that CI runs
	@echo "== format"
	@$(BIN)/ruff format --check
	@echo "== lint"
	@$(BIN)/ruff check
	@echo "== layers"
	@$(BIN)/lint-imports
	@echo "== mypy, beside the tests: it uses one core; each file of tests stays in one process, so that it prepares once"
	@printf '%s\n' "mypy" "pytest -n auto --dist loadfile --no-loadscope-reorder" | xargs -P 2 -I COMMAND sh -c '$(BIN)/COMMAND'

slow: $(VENV)/.ready ## run the tests that `make test` skips: JAX as for a user, pages by zensical, mypy without a cache
	@TAPEGRAD_SLOW=1 XLA_FLAGS= $(BIN)/pytest tests/test_docs.py tests/engines/test_fast.py tests/jax \
		tests/mypy/test_other_plugins.py tests/mypy/test_robustness.py tests/ops/test_attention.py \
		tests/ops/test_conv.py

differential: $(VENV)/.ready ## compare mypy's report on 10,000 calls with their results
	@$(BIN)/python tests/mypy/test_differential.py 5000
	@$(BIN)/python tests/mypy/test_differential.py 5000 --hide

fire: $(VENV)/.ready ## check programs broken at 10,000 places, with each size hidden, and edited 2,000 times
	@$(BIN)/python tests/mypy/test_under_fire.py 2500 --edits 200
	@$(BIN)/python tests/mypy/test_incremental.py 2000 --workers
	@$(BIN)/python tests/mypy/test_wrong_arguments.py
	@$(BIN)/python -m tests.mypy.test_unknown_sizes

fuzz: $(VENV)/.ready ## generate random programs, tapes, sizes and shapes for some minutes
	@$(BIN)/pytest --hypothesis-profile=fuzz tests/test_programs.py tests/test_beside_numpy.py \
		tests/autograd/test_tape_machine.py tests/sizes/test_algebra.py tests/tapem/test_tape.py tests/oracle/test_programs.py

mutants: $(VENV)/.ready ## run mutation tests for an hour, and write the mutants that no test detects to build/mutants.md
	@$(BIN)/python -m pip install --quiet mutmut==3.8.1
	@$(BIN)/python tests/mutants.py

oldest: $(VENV)/.ready ## run the programs of typecheck/ under the oldest mypy that is supported
	@$(BIN)/python -m pip install --quiet --no-deps --upgrade --target build/mypy mypy==$(OLDEST)
	@PYTHONPATH=$(CURDIR)/build/mypy $(BIN)/python -m mypy --version
	@PYTHONPATH=$(CURDIR)/build/mypy $(BIN)/pytest tests/test_typecheck.py tests/mypy/test_differential.py

faults: $(VENV)/.ready ## install atheris, mutate 100,000 files, and kill and interrupt at ten times as many moments
	@$(BIN)/python -m pip install --quiet atheris==3.0.0
	@$(BIN)/python tests/io/test_hostile.py 100000
	@TAPEGRAD_FAULTS=1 $(BIN)/pytest tests/io/test_atomic.py tests/progress/test_run.py tests/test_interrupts.py tests/jax/test_interrupts.py

matrix: $(VENV)/.ready ## test with each Python on the path, oldest and newest dependencies, without and with extras
	@$(BIN)/python tests/matrix.py

oracle: $(VENV)/.ready ## install PyTorch and JAX, and compare every op with them
	@$(BIN)/python -m pip install --quiet torch==2.13.0 jax==0.10.2
	@$(BIN)/pytest tests/oracle

bench: $(BENCH)/.ready ## install the other libraries in .venv-bench, and compare training times with theirs; SHORT=1, AVX2=1
	@mkdir -p build
	@$(BENCH)/bin/python -m benchmarks.workloads --tuned $(if $(SHORT),--short) $(if $(AVX2),--avx2) \
		--json build/workloads.json
	@$(BENCH)/bin/python -m benchmarks.history build/workloads.json

compare: $(BENCH)/.ready ## run PyTorch, jaxtyping and pyrefly again, and compare with what docs/guide/comparison.md quotes
	@$(BENCH)/bin/python -m pip install --quiet pyrefly==1.4.1 pyrefly-torch-stubs==1.4.0
	@$(BENCH)/bin/python -m benchmarks.comparison

docs: docs-pages ## build the pages into site/
	@$(BIN)/python -m mkdocs build --strict

docs-pages: $(VENV)/.ready
	@$(BIN)/python -m docs.reference
	@$(BIN)/python -m docs.error_pages
	@$(BIN)/python -m docs.notebook_pages

docs-publish: docs-pages ## commit the built pages of VERSION, such as 0.2 or dev, to the branch gh-pages
	@test -n "$(VERSION)" || { echo "a version is missing: make docs-publish VERSION=0.2"; exit 2; }
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/mike deploy --update-aliases $(VERSION) $(if $(filter dev,$(VERSION)),,latest)
	@$(BIN)/mike set-default latest 2>/dev/null || $(BIN)/mike set-default $(VERSION) # before the first release

docs-check: docs ## check the built pages with axe-core; needs Chromium
	@$(BIN)/python -m pip install --quiet axe-playwright-python==0.1.8
	@$(BIN)/python -m docs.accessibility

jupyterlab: $(VENV)/.ready ## run notebooks and cells with mistakes in JupyterLab in Chromium; pictures in build/jupyterlab
	@$(BIN)/python -m pip install --quiet jupyterlab==4.6.6 playwright==1.65.2
	@$(BIN)/python -m tests.jupyterlab

docs-serve: docs ## show the pages at http://localhost:8000, and reload them when one is saved
	@$(BIN)/python -m mkdocs serve

format: $(VENV)/.ready ## format, and fix what ruff can fix
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

lock: $(VENV)/.locked ## lock the newest versions, for every platform
	$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --quiet --upgrade --universal --python-version 3.11 \
		--fork-strategy fewest --generate-hashes --no-annotate \
		--custom-compile-command "make lock" --output-file $(LOCK)

dist: $(VENV)/.ready ## build the wheel and the source archive into dist/, and check them
	@rm -rf dist
	@$(BIN)/hatchling build --directory dist
	@$(BIN)/twine check --strict dist/*
	@$(BIN)/check-wheel-contents dist/*.whl

release: $(VENV)/.ready ## date the changelog and tag a commit as VERSION, and show its notes
	@$(BIN)/python -m docs.release $(VERSION)

clean: ## remove the environment, the builds and the caches
	rm -rf $(VENV) $(BENCH) build dist docs/api docs/errors docs/notebooks site .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

# A new lock file creates a new environment; a new pyproject.toml only installs tapegrad again.
# uv unpacks the 1.9 GB of the tools in a tenth of pip's time.
$(VENV)/.locked: $(LOCK)
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(1)' \
		|| { echo "tapegrad needs Python 3.11 or newer, and $(PYTHON) is older: make PYTHON=python3.11"; exit 1; }
	@echo "== $(VENV): the locked tools, about half a minute"
	@$(PYTHON) -m venv --clear $(VENV)
	@sed -n '/^uv==/,/[^\\]$$/p' $(LOCK) > $(VENV)/uv.txt
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement $(VENV)/uv.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --requirement $(LOCK) || { \
		echo "uv does not read pip.conf; the same with pip, some minutes"; \
		$(BIN)/python -m pip install --quiet --no-compile --require-hashes --requirement $(LOCK); }
	@touch $@

$(VENV)/.ready: $(VENV)/.locked pyproject.toml
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# The lock file excludes the other libraries: torch alone is larger than all tools.
$(BENCH)/.ready: pyproject.toml
	@echo "== $(BENCH): the other libraries, some minutes"
	@$(PYTHON) -m venv --clear $(BENCH)
	@$(BENCH)/bin/python -m pip install --quiet --editable ".[fast,plot]" torch==2.13.0 jax==0.10.2 autograd==1.9.1 \
		equinox==0.13.8 optax==0.2.8
	@touch $@
