# beam_pipeline in Beam's SDK image: a worker of Flink, Spark or Dataflow, and what launches jobs.
#
#   docker build -f docker/pipeline.Dockerfile -t beam-tfrecords-pipeline .
#   docker run beam-tfrecords-pipeline --worker_pool
#   docker run --entrypoint python beam-tfrecords-pipeline -m beam_pipeline --help
#
# BASE is any image with Beam's `boot` and Python 3.11: workers and launcher must have the same
# versions of Python and Beam.
ARG BASE=apache/beam_python3.11_sdk:2.77.0

FROM ${BASE} AS build
ARG PIP_INDEX_URL
WORKDIR /build
COPY pyproject.toml docker/requirements.py ./
RUN python requirements.py pyproject.toml --extra hdf5 --extra near-duplicates > requirements.txt
COPY setup.py README.md LICENSE ./
COPY beam_pipeline beam_pipeline
COPY tfrecord_dataset tfrecord_dataset
COPY trainer trainer
RUN pip wheel --no-cache-dir --no-deps --wheel-dir wheels .

FROM ${BASE}
ARG PIP_INDEX_URL
WORKDIR /opt/beam-tfrecords
COPY constraints.txt ./
COPY --from=build /build/requirements.txt ./
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --constraint constraints.txt --requirement requirements.txt
COPY --from=build /build/wheels wheels
RUN pip install --no-cache-dir --no-deps wheels/*.whl
WORKDIR /
# All packages are in the image: no environment of its own for every worker, which takes seconds.
ENV RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1
# Beam's own entry point, for bases that do not state it.
ENTRYPOINT ["/opt/apache/beam/boot"]
