# Everything a developer types. Each target does its own set-up.

PYTHON ?= python3
# TensorFlow for this machine; the package itself asks for `tensorflow`.
TENSORFLOW ?= $(shell command -v nvidia-smi >/dev/null && echo 'tensorflow[and-cuda]' || echo tensorflow-cpu)
BIN := .venv/bin
READY := .venv/ready

.PHONY: setup demo test test-slow test-readers check format constraints clean

setup: $(READY)

# TENSORFLOW decides which TensorFlow goes in, so the extra `trainer` is left out.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]' '$(TENSORFLOW)'
	touch $@

demo: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" examples/demo.sh

# A file's tests stay in one process, for they share what they built; tests/conftest.py orders them.
# One process more than there are CPUs: tests wait for processes and stores that they start.
PYTEST := $(BIN)/python -m pytest --numprocesses $(shell expr $$(nproc) + 1) --dist loadfile --no-loadscope-reorder

# Python keeps what it has compiled: tests start it again some thirty times.
test test-slow test-readers: export PYTHONDONTWRITEBYTECODE :=

test: $(READY)
	$(PYTEST) -m 'not slow and not flink and not gpu and not readers'

test-slow: $(READY)
	$(PYTEST) -m 'slow and not flink and not gpu and not readers'

# Other projects' readers, which nothing else here needs.
test-readers: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[readers]'
	$(PYTEST) -m readers

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Takes the newest versions that pyproject.toml allows, in an environment of their own.
constraints:
	$(PYTHON) -m venv .venv-constraints
	.venv-constraints/bin/pip install --quiet --editable '.[dev,readers]' tensorflow-cpu
	{ echo '# The versions that `make setup` installs; made by `make constraints`.'; \
	  { .venv-constraints/bin/pip freeze --exclude-editable; \
	    .venv-constraints/bin/pip freeze | sed -n 's/^tensorflow_cpu==/tensorflow==/p'; } \
	  | LC_ALL=C sort -u -f; } > constraints.txt
	rm -rf .venv-constraints

clean:
	rm -rf .venv build dist demo *.egg-info
