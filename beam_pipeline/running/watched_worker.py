"""A worker process of Beam's local runner whose end ends the job.

Beam waits for ever for the answer of a worker that was killed, for instance because memory ran out.
"""

import threading
from typing import Any

from apache_beam.portability import python_urns
from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.portability import local_job_service
from apache_beam.runners.portability.fn_api_runner.worker_handlers import (
    BeamFnControlServicer,
    ControlFuture,
    SubprocessSdkWorkerHandler,
    WorkerHandler,
)

# `failures.explain` finds the error in what the runner raises.
_ERROR = (
    "beam_pipeline.errors.BeamTFRecordsError: a worker process of Beam ended unexpectedly "
    "({reason}), perhaps because memory ran out; run the same command again with a smaller "
    "--direct_num_workers, or without --direct_running_mode"
)


def watch_workers() -> None:
    """Lets Beam's local runner start its worker processes as `WatchedWorker`."""
    WorkerHandler.register_environment(python_urns.SUBPROCESS_SDK, bytes)(WatchedWorker)


class WatchedWorker(SubprocessSdkWorkerHandler):
    """Answers in place of a process that has failed."""

    def start_worker(self) -> None:
        self.worker = local_job_service.SubprocessSdkWorker(
            self._worker_command_line, self.control_address, self.provision_info, self.worker_id
        )
        self.worker_thread = threading.Thread(name="run_worker", target=self._run)
        self.worker_thread.start()

    def _run(self) -> None:
        try:
            self.worker.run()
        except RuntimeError as error:  # its exit code is not 0
            self._answer_all(_ERROR.format(reason=error))

    def _answer_all(self, error: str) -> None:
        connection = self.control_conn

        def answered(request: Any) -> ControlFuture | None:
            if request is BeamFnControlServicer._DONE_MARKER:
                connection._push_queue.put(request)
                return None
            name = request.instruction_id
            return ControlFuture(name, _response(name, error))

        connection.push = answered
        for name, future in list(connection._futures_by_id.items()):
            future.set(_response(name, error))


def _response(name: str, error: str) -> Any:
    return beam_fn_api_pb2.InstructionResponse(instruction_id=name, error=error)
