# Everything a developer types. Each target does its own set-up.

PYTHON ?= python3
# TensorFlow for this machine; the package itself asks for `tensorflow`.
TENSORFLOW ?= $(shell command -v nvidia-smi >/dev/null && echo 'tensorflow[and-cuda]' || echo tensorflow-cpu)
BIN := .venv/bin
READY := .venv/ready

.PHONY: setup demo test test-slow check format constraints clean

setup: $(READY)

# TENSORFLOW decides which TensorFlow goes in, so the extra `trainer` is left out.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]' '$(TENSORFLOW)'
	touch $@

demo: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" examples/demo.sh

test: $(READY)
	$(BIN)/python -m pytest -m 'not slow and not flink and not gpu'

test-slow: $(READY)
	$(BIN)/python -m pytest -m 'slow and not flink and not gpu'

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv build dist demo *.egg-info
