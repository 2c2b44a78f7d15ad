# Everything a developer types. Each target does its own set-up.

PYTHON ?= python3
# TensorFlow for this machine; the package itself asks for `tensorflow`.
TENSORFLOW ?= $(shell command -v nvidia-smi >/dev/null && echo 'tensorflow[and-cuda]' || echo tensorflow-cpu)
BIN := .venv/bin
# What the commands need, and what tests and checks need in addition.
INSTALLED := .venv/installed
READY := .venv/ready

.PHONY: setup dev demo test test-slow nightly fuzz coverage mutations storm bench bench-full scale scale-large test-gpu test-readers test-docker test-dataflow test-runners flink-jar flink-home test-flink storm-flink spark-jar check format words docs pictures dist constraints clean

setup: $(INSTALLED)

# TENSORFLOW decides which TensorFlow goes in, so the extra `trainer` is left out.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --constraint constraints.txt --editable . keras tensorboard '$(TENSORFLOW)'
	touch $@

dev: $(READY)

$(READY): $(INSTALLED)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(INSTALLED)
	PATH="$(CURDIR)/$(BIN):$$PATH" examples/demo.sh

# Arguments of pytest, as in `make test PYTEST_ARGS='-k names'`.
PYTEST_ARGS ?=
# Narrows the tests of the targets below `test-readers`; CI sets 'and not nightly'.
SELECT ?=

# A file's tests stay in one process, for they share what they built; tests/conftest.py orders them.
# One process more than there are CPUs: tests wait for processes and stores that they start.
PYTEST := $(BIN)/python -m pytest --numprocesses $(shell expr $$(nproc) + 1) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

# Python keeps what it has compiled: tests start it again some thirty times.
test test-slow test-readers test-docker test-dataflow test-runners test-flink storm-flink test-gpu nightly: export PYTHONDONTWRITEBYTECODE :=

# Those of code that need neither a cluster, a GPU nor what other projects bring.
PLAIN := not words and not flink and not gpu and not readers and not docker and not dataflow and not runners
HERE := not nightly and $(PLAIN)

test: $(READY)
	$(PYTEST) -m 'not slow and $(HERE)'

test-slow: $(READY)
	$(PYTEST) -m 'slow and $(HERE)'

# What CI leaves out: further cases of its tests, many more drawn examples, long fuzzing, kills,
# changes of the code. `SELECT` is unset, so the targets below run their nightly tests, too.
nightly: $(READY)
	$(PYTEST) --hypothesis-profile=thorough -m '(nightly or hypothesis) and $(PLAIN)'
	$(MAKE) test-readers test-flink test-runners test-dataflow test-docker
	$(MAKE) dist fuzz storm storm-flink mutations scale-large

# Lines and branches that the quick tests run, worker processes and commands included: a table in
# the terminal, pages in htmlcov/. SLOW=1 measures the slow tests, too, which takes hours.
SLOW ?=
coverage: $(READY)
	rm -f .coverage .coverage.*
	$(PYTEST) --cov --cov-report= $(if $(SLOW),--hypothesis-profile=thorough -m '$(HERE)',-m 'not slow and $(HERE)')
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report

# 200 random changes of the rooms that data could get lost in, each with the tests that should fail
# for it; what they survive is printed. Takes an hour or more.
MUTATED ?= beam_pipeline/assign beam_pipeline/kinds beam_pipeline/write beam_pipeline/dataset beam_pipeline/tfrecord.py \
  tfrecord_dataset trainer/order.py trainer/training/checkpoint.py
mutations: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[mutations]'
	$(BIN)/python tests/mutations.py $(MUTATED)

# Kills real commands at random moments, runs them again, and prints what came of it.
SEEDS ?= 20
storm: $(READY)
	$(BIN)/python tests/storm.py --seeds $(SEEDS)

# Changed files of every format by seeds, and a table of what became of them; faults are kept in fuzz-found/.
COUNT ?= 10000
SEED ?= 0
fuzz: $(READY)
	PYTHONPATH=.:tests $(BIN)/python -m fuzz --count $(COUNT) --seed $(SEED)

# Against the peers, whose environments are made in the user's cache: writes benchmarks/RESULTS.md.
# Under 15 minutes on two idle cores once they are there.
bench: $(READY)
	$(BIN)/python benchmarks/bench.py

# With more records, the slow peers, and five rounds.
bench-full: $(READY)
	$(BIN)/python benchmarks/bench.py --full --rounds 5

# How the costs of a build grow with files, rows, classes and the like: the table of docs/dev/scaling.md.
scale: $(READY)
	$(BIN)/python benchmarks/growth.py

# 100,000 class folders, and a million keys of a store: an hour or more.
scale-large: $(READY)
	$(BIN)/python benchmarks/growth.py --large

# Needs GPUs, and fails without one.
test-gpu: $(READY)
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m gpu tests/gpu

# Other projects' readers, which nothing else here needs; of report.html a browser.
test-readers: .venv/readers
	$(PYTEST) -m 'readers $(SELECT)'

.venv/readers: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[readers,docs]'
	$(BIN)/pip install --quiet --no-deps 'keras-hub==0.32.0' 'kagglehub==1.0.2' 'kagglesdk==0.1.28' regex sentencepiece tokenizers
	command -v chromium || { apt-get update --quiet && \
	  DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends chromium; } \
	  || echo 'no page can be opened here: chromium cannot be installed'
	touch $@

# Builds the images, on a machine of Debian's without Docker and without a registry. Where they
# cannot be built, the tests that want them are skipped, with the reason in the summary.
test-docker: .venv/docker flink-home
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m 'docker $(SELECT)' tests/docker

.venv/docker: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docker]'
	{ command -v buildah && command -v mmdebstrap; } || { apt-get update --quiet && \
	  DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends buildah crun mmdebstrap; } \
	  || echo 'no image can be built here: buildah and mmdebstrap cannot be installed'
	touch $@

# Google's libraries change Beam's file systems and its start, so they have an environment of their
# own; it lacks this package, which a job brings to its workers.
test-dataflow: .venv-dataflow/ready
	.venv-dataflow/bin/python -m pytest $(PYTEST_ARGS) -m 'dataflow $(SELECT)' tests/dataflow

.venv-dataflow/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-dataflow
	$(PYTHON) docker/requirements.py pyproject.toml --extra gcp > .venv-dataflow/requirements.txt
	.venv-dataflow/bin/pip install --quiet --constraint constraints.txt \
	  --requirement .venv-dataflow/requirements.txt hypothesis pytest pytest-rerunfailures setuptools
	touch $@

# Beam's other runners: a job service of Python's, and Spark; CI runs only Spark.
test-runners: $(READY) spark-jar
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m 'runners $(SELECT)' tests/runners

# Needs Maven and Java 17.
spark-jar:
	docker/spark/make_jar.sh

# The version whose job server `flink-jar` makes.
FLINK ?= 1.19

# Beam's job server for Flink, of Beam's packages; it stays in the user's cache.
flink-jar:
	docker/flink/make_jar.sh $(FLINK)

# Flink itself, which stays there, too.
flink-home: $(READY)
	PYTHON=$(BIN)/python docker/flink/make_home.sh 1.19.3

# A cluster of real processes on this machine.
test-flink: flink-jar flink-home
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m 'flink $(SELECT)' tests/flink

# As many builds on Flink, each of which loses a part of its cluster; `test-flink` has one of them.
storm-flink: flink-jar flink-home
	SEEDS=$(SEEDS) $(BIN)/python -m pytest $(PYTEST_ARGS) -s -m flink tests/flink/test_storm.py

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Phrases that make pages and comments hard to read, and the lengths of pages.
words: $(READY)
	$(BIN)/python -m pytest $(PYTEST_ARGS) tests/test_words.py

# The site, in site/; a link that leads nowhere stops it. It reads the packages, and imports none.
docs: .venv-docs/ready
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet

# The pictures of docs/images, of reports as they are now; needs chromium and the extra `readers`.
pictures: $(READY)
	PYTHONPATH=.:tests $(BIN)/python tests/pictures.py

# The source distribution and the wheel, in dist/.
dist: .venv-docs/ready
	rm -rf dist
	.venv-docs/bin/python -m build --outdir dist .
	.venv-docs/bin/twine check --strict dist/*

.venv-docs/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	$(PYTHON) -c "import tomllib; extras = tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']; \
	  print(*extras['docs'], *extras['dist'], sep='\n')" > .venv-docs/requirements.txt
	.venv-docs/bin/pip install --quiet --constraint constraints.txt --requirement .venv-docs/requirements.txt
	touch $@

# Takes the newest versions that pyproject.toml allows, in an environment of their own.
constraints:
	$(PYTHON) -m venv .venv-constraints
	.venv-constraints/bin/pip install --quiet --editable '.[dev,dist,docker,docs,gcp,mutations,notebook,readers]' tensorflow-cpu
	{ echo '# The versions that `make setup` and `make dev` install; made by `make constraints`.'; \
	  { .venv-constraints/bin/pip freeze --exclude-editable; \
	    .venv-constraints/bin/pip freeze | sed -n 's/^tensorflow_cpu==/tensorflow==/p'; } \
	  | LC_ALL=C sort -u -f; } > constraints.txt
	rm -rf .venv-constraints

clean:
	rm -rf .venv .venv-dataflow .venv-docs build dist site demo *.egg-info
