# Two commands for a newcomer: `make demo` and `make test`. Everything lives in .venv.
PYTHON ?= python3
PY := .venv/bin/python
READY := .venv/.ready
DEV_READY := .venv/.dev-ready

.PHONY: bench-dashboard demo test quick lint chaos sglang-cpu test-sglang test-sglang-all docs bench-search bench-truth bench-load bench-tpot

$(PY):
	$(PYTHON) -c 'import sys; sys.exit("autotune needs Python 3.11 or newer; set PYTHON=/path/to/python3") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv

$(READY): $(PY) pyproject.toml
	$(PY) -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(DEV_READY): $(READY)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(READY)
	.venv/bin/autotune demo $(ARGS)

lint: $(DEV_READY)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

quick: $(DEV_READY)
	.venv/bin/pytest -m 'not slow and not sglang and not sglang_all and not browser'

# The slow tests mostly wait for processes: two files at a time keep two cores busy.
test: quick
	.venv/bin/pytest -n 2 --dist loadfile -m 'slow and not sglang or browser'

chaos: $(DEV_READY)
	$(PY) -m tests.chaos $(ARGS)

sglang-cpu:
	tests/sglang_cpu/build.sh

test-sglang: $(DEV_READY) sglang-cpu
	.venv/bin/pytest -m sglang tests/sglang_cpu tests/e2e

test-sglang-all: $(DEV_READY) sglang-cpu
	.venv/bin/pytest -m sglang_all tests/sglang_cpu; failed=$$?; cat tests/sglang_cpu/out/scenarios.md; exit $$failed

docs: $(READY)
	$(PY) -m trials.failures.document > docs/failures.md
	$(PY) -m autotune.reference docs

bench-search: $(DEV_READY)
	OMP_NUM_THREADS=1 $(PY) -m tests.bench.bench_search

bench-truth: $(DEV_READY)
	OMP_NUM_THREADS=1 $(PY) -m tests.bench.bench_truth

bench-load: $(DEV_READY) sglang-cpu
	$(PY) tests/bench/bench_load.py

bench-dashboard: $(DEV_READY)
	$(PY) -m tests.bench.bench_dashboard

bench-tpot: $(DEV_READY) sglang-cpu
	$(PY) tests/bench/bench_tpot.py
