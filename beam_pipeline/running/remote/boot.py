"""Console script `beam-tfrecords-worker`: a worker of Beam for `--environment_type=PROCESS`.

A runner calls it with the addresses of its services. Beam's own program for that only works in its
container images.

A TaskManager of Flink starts a Python process for every stage of a job, and importing Beam takes a
second of CPU time. So the first worker of a parent starts a server, which imports, and forks the
parent's later workers until none was started for a minute (Linux only).
"""

import argparse
import contextlib
import importlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from beam_pipeline.running.memory import ONE_THREAD

if TYPE_CHECKING:
    from apache_beam.portability.api import beam_provision_api_pb2

_IDLE_S = 60.0
_MAX_BYTES = 1 << 16
_STARTED = b"+"
_ADDRESSES = ("logging", "artifact", "provision", "control")
_IMPORTS = ("apache_beam.runners.worker.sdk_worker_main", "beam_pipeline.pipeline")


def main() -> None:
    """Run a worker until its runner ends it."""
    sys.exit(run(f"{__name__}:work", _IMPORTS, sys.argv[1:]))


def work(given: Sequence[str]) -> None:
    """Run a worker in this process with a runner's arguments."""
    from apache_beam.runners.worker import sdk_worker_main
    from google.protobuf import json_format

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--id", required=True)
    for name in _ADDRESSES:
        parser.add_argument(f"--{name}_endpoint")
    arguments, _ = parser.parse_known_args(given)
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
    sdk_worker_main.main([sys.argv[0], *given])


def _provision(address: str, worker_id: str) -> "beam_provision_api_pb2.ProvisionInfo":
    """Get the pipeline's options and addresses from the runner."""
    import grpc
    from apache_beam.portability.api import beam_provision_api_pb2, beam_provision_api_pb2_grpc
    from apache_beam.runners.worker.worker_id_interceptor import WorkerIdInterceptor

    channel = grpc.intercept_channel(grpc.insecure_channel(address), WorkerIdInterceptor(worker_id))
    service = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
    request = beam_provision_api_pb2.GetProvisionInfoRequest()
    return service.GetProvisionInfo(request).info


def _descriptor(url: str) -> str:
    from apache_beam.portability.api import endpoints_pb2
    from google.protobuf import text_format

    return str(text_format.MessageToString(endpoints_pb2.ApiServiceDescriptor(url=url)))


def run(work: str, imports: Sequence[str], arguments: Sequence[str]) -> int:
    """Call `work`, a "module:function", with arguments, in a fork if possible; return exit code."""
    try:
        started = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:  # not Linux
        return _call(work, arguments)
    address = f"beam-tfrecords-{os.getppid()}-{started}"
    with contextlib.suppress(OSError), _socket() as server:
        try:
            server.connect(f"\0{address}")
        except ConnectionRefusedError:
            command = [sys.executable, "-m", __name__, address, work, *imports]
            null = subprocess.DEVNULL
            environment = ONE_THREAD | os.environ
            subprocess.Popen(command, stdin=null, stdout=null, stderr=null, env=environment)
        else:
            if _is_own(server):
                socket.send_fds(server, [json.dumps(list(arguments)).encode()], [1, 2])
                if server.recv(1) == _STARTED:
                    return int.from_bytes(server.recv(1) or b"\1", "big")
    return _call(work, arguments)


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _is_own(connection: socket.socket) -> bool:
    """Whether the other end belongs to this user; anyone may use such an address."""
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return bool(struct.unpack("3i", peer)[1] == os.geteuid())


def _call(work: str, arguments: Sequence[str]) -> int:
    module, _, function = work.partition(":")
    getattr(importlib.import_module(module), function)(arguments)
    return 0


def serve(address: str, work: str, imports: Sequence[str]) -> None:
    """Import modules, then fork a process per connection, until there is none for a minute."""
    with _socket() as listener, contextlib.suppress(OSError):
        listener.bind(f"\0{address}")  # fails if another server has it
        listener.listen()
        for module in imports:
            importlib.import_module(module)
        if len(os.listdir("/proc/self/task")) > 1:  # a fork would lack them, and may wait for them
            return
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
        listener.settimeout(_IDLE_S)
        while True:
            connection, _ = listener.accept()
            if _is_own(connection) and not os.fork():
                listener.close()
                _work(connection, work)
            connection.close()


def _work(connection: socket.socket, work: str) -> None:
    """Run a forked worker; it ends with the process that asked for it."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        connection.settimeout(None)
        arguments, outputs, _, _ = socket.recv_fds(connection, _MAX_BYTES, 2)
        for descriptor, output in enumerate(outputs, 1):
            os.dup2(output, descriptor)
            os.close(output)
        connection.sendall(_STARTED)
        threading.Thread(target=_end_with, args=[connection], daemon=True).start()
        code = _call(work, json.loads(arguments))
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(bytes([code & 255]))
    os._exit(code & 255)


def _end_with(connection: socket.socket) -> None:
    connection.recv(1)
    os._exit(1)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], sys.argv[3:])
