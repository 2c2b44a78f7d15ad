"""Shared job services and inputs."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ports import answers, free_ports
from waiting import wait_until

from tfrecord_dataset.store.user_cache import cache_folder

_START_S = 90.0
SPARK_JAR = cache_folder() / "spark-job-server.jar"


@pytest.fixture(scope="session")
def job_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """job_service("python" or "spark") -> the address of a job service; started once."""
    started: dict[str, tuple[str, subprocess.Popen[bytes]]] = {}

    def start(kind: str) -> str:
        if kind not in started:
            ports = free_ports(3)
            log = tmp_path_factory.mktemp(kind) / "log"
            with log.open("w") as handle:
                process = subprocess.Popen(_command(kind, ports), stdout=handle, stderr=handle)
            address = f"localhost:{ports[0]}"
            started[kind] = (address, process)
            wait_until(
                lambda: process.poll() is not None or answers(ports[0]),
                *(_START_S, "the job service does not answer"),
            )
            assert process.poll() is None, log.read_text()[-2000:]
        return started[kind][0]

    yield start
    for _, process in started.values():
        process.terminate()
        process.wait()


def _command(kind: str, ports: list[int]) -> list[str]:
    job, artifact, expansion = map(str, ports)
    if kind == "python":
        module = "apache_beam.runners.portability.local_job_service_main"
        return [sys.executable, "-m", module, "--port", job]
    opens = [f"java.base/{name}=ALL-UNNAMED" for name in ("sun.nio.ch", "java.nio", "java.util")]
    return [
        *("java", "-Xmx1g", *(f"--add-opens={each}" for each in opens)),
        *("--add-opens=java.base/java.lang.invoke=ALL-UNNAMED", "-jar", str(SPARK_JAR)),
        *("--spark-master-url", "local[2]", "--job-port", job),
        *("--artifact-port", artifact, "--expansion-port", expansion),
    ]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of 2,000 rows plus a row with a cell too many."""
    path = tmp_path / "words.csv"
    rows = "".join(f"{number},word{number}\n" for number in range(2000))
    path.write_text(f"x,word\n{rows}2000,word2000,more\n")
    return path
