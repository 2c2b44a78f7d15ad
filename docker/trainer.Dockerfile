# trainer with TensorFlow for GPUs, and without Apache Beam.
#
#   docker build -f docker/trainer.Dockerfile -t beam-tfrecords-trainer .
#   docker build -f docker/trainer.Dockerfile --build-arg TENSORFLOW=tensorflow-cpu -t beam-tfrecords-trainer-cpu .
#   docker run --gpus all beam-tfrecords-trainer train --help
#
# TensorFlow's wheels bring CUDA and cuDNN; the machine has NVIDIA's driver and container toolkit.
# BASE is any image with Python 3.11. TENSORFLOW=tensorflow-cpu makes an image for CPUs.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
ARG PIP_INDEX_URL
WORKDIR /build
COPY pyproject.toml docker/requirements.py ./
RUN python requirements.py pyproject.toml --extra trainer --without apache-beam --without tensorflow > requirements.txt
COPY setup.py README.md LICENSE ./
COPY beam_pipeline beam_pipeline
COPY tfrecord_dataset tfrecord_dataset
COPY trainer trainer
RUN pip wheel --no-cache-dir --no-deps --wheel-dir wheels .

FROM ${BASE}
ARG PIP_INDEX_URL
ARG TENSORFLOW=tensorflow[and-cuda]
WORKDIR /opt/beam-tfrecords
COPY constraints.txt docker/cuda-constraints.txt ./
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --constraint constraints.txt --constraint cuda-constraints.txt "${TENSORFLOW}"
COPY --from=build /build/requirements.txt ./
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --constraint constraints.txt --requirement requirements.txt
COPY --from=build /build/wheels wheels
RUN pip install --no-cache-dir --no-deps wheels/*.whl \
    && useradd --uid 1000 --create-home trainer
USER 1000
WORKDIR /home/trainer
ENTRYPOINT ["python", "-m", "trainer"]
