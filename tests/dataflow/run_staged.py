"""Runs a staged pipeline in this process like Dataflow's workers: run_staged.py FILE."""

import sys
from pathlib import Path

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability import python_urns
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, worker_handlers

worker_handlers.DATA_BUFFER_TIME_LIMIT_MS = 0  # otherwise it loses records
pipeline = beam_runner_api_pb2.Pipeline.FromString(Path(sys.argv[1]).read_bytes())
for environment in pipeline.components.environments.values():
    environment.urn = python_urns.EMBEDDED_PYTHON
    environment.payload = b""
    del environment.dependencies[:]  # already installed
FnApiRunner().run_via_runner_api(pipeline, PipelineOptions([])).wait_until_finish()
