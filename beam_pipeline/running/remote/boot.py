"""Console script `beam-tfrecords-worker`: a worker of Beam for `--environment_type=PROCESS`.

A runner calls it with the addresses of its services. Beam's own program for that only works in its
container images.
"""

import argparse
import functools
import os
import sys
import tempfile

import grpc
from apache_beam.portability.api import (
    beam_provision_api_pb2,
    beam_provision_api_pb2_grpc,
    endpoints_pb2,
)
from apache_beam.runners.worker import data_plane, sdk_worker_main
from apache_beam.runners.worker.worker_id_interceptor import WorkerIdInterceptor
from google.protobuf import json_format, text_format

# Runners in Java take a stage's output once the worker has done all of it. Until then their heap
# holds 100 messages, by default of 10 MiB, and the worker 200 MiB; more waits for ever.
_MESSAGE_BYTES = 1 << 19
_WAITING_BYTES = 1 << 40
_ADDRESSES = ("logging", "artifact", "provision", "control")


def main() -> None:
    """Run a worker until its runner ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--id", required=True)
    for name in _ADDRESSES:
        parser.add_argument(f"--{name}_endpoint")
    arguments, _ = parser.parse_known_args()
    worker_id = arguments.id.strip("'")  # Prism quotes it
    information = _provision(arguments.provision_endpoint, worker_id)
    control = arguments.control_endpoint or information.control_endpoint.url
    logging = arguments.logging_endpoint or information.logging_endpoint.url
    os.environ |= {
        "WORKER_ID": worker_id,
        "PIPELINE_OPTIONS": json_format.MessageToJson(information.pipeline_options),
        "SEMI_PERSISTENT_DIRECTORY": tempfile.gettempdir(),
        "CONTROL_API_SERVICE_DESCRIPTOR": _descriptor(control),
        "LOGGING_API_SERVICE_DESCRIPTOR": _descriptor(logging),
    }
    let_output_wait_here()
    sdk_worker_main.main(sys.argv)


def let_output_wait_here() -> None:
    """Let any amount of output wait in this process, so that little waits in the runner's.

    Messages are small; one with a larger element has only that.
    """
    data_plane._DEFAULT_SEND_QUEUE_MAX_BYTES = _WAITING_BYTES
    data_plane._DEFAULT_SIZE_FLUSH_THRESHOLD = _MESSAGE_BYTES
    data_plane.SizeBasedBufferingClosableOutputStream = functools.partial(
        data_plane.SizeBasedBufferingClosableOutputStream, size_flush_threshold=_MESSAGE_BYTES
    )


def _provision(address: str, worker_id: str) -> beam_provision_api_pb2.ProvisionInfo:
    """Get the pipeline's options and addresses from the runner."""
    channel = grpc.intercept_channel(grpc.insecure_channel(address), WorkerIdInterceptor(worker_id))
    service = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
    request = beam_provision_api_pb2.GetProvisionInfoRequest()
    return service.GetProvisionInfo(request).info


def _descriptor(url: str) -> str:
    return str(text_format.MessageToString(endpoints_pb2.ApiServiceDescriptor(url=url)))
