"""A local Flink cluster of real processes, downloaded by `make test-flink`."""

import contextlib
import dataclasses
import itertools
import json
import os
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ports import free_port
from waiting import wait_until

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "beam-tfrecords")
FLINK = "1.19.3"
ROOT = Path(__file__).parents[1]
TEST_S = 600
START_S = 120


class Cluster:
    """One JobManager and its TaskManagers, all process groups that `stop` ends.

    Args:
        folder: Folder of its files.
        available: Whether a lost JobManager is replaced and continues its jobs, kept by the
            ZooKeeper that Flink contains.
    """

    def __init__(self, folder: Path, *, available: bool = False):
        home = CACHE / f"flink-{FLINK}"
        if not home.exists():
            pytest.fail(f"{home} is missing; run `make test-flink`, which makes it")
        self.folder = folder
        self.address = f"localhost:{free_port()}"
        self._keeper: subprocess.Popen[bytes] | None = None
        self._job_manager: subprocess.Popen[bytes] | None = None
        self._task_managers: list[subprocess.Popen[bytes]] = []
        for name in ("conf", "log", "tmp", "blob"):
            (folder / name).mkdir()
        shutil.copytree(home / "conf", folder / "conf", dirs_exist_ok=True)
        settings = (ROOT / "docker/flink/config.yaml").read_text()
        for setting, value in {
            "rest.port: 8081": f"rest.port: {self.address.partition(':')[2]}",
            "jobmanager.rpc.port: 6123": f"jobmanager.rpc.port: {free_port()}",
        }.items():
            assert setting in settings
            settings = settings.replace(setting, value)
        settings += f"blob.storage.directory: {folder}/blob\nio.tmp.dirs: {folder}/tmp\n"
        self._zookeeper = free_port() if available else 0
        if available:
            settings += (
                "high-availability.type: zookeeper\n"
                f"high-availability.zookeeper.quorum: localhost:{self._zookeeper}\n"
                f"high-availability.storageDir: file://{folder}/available\n"
            )
        (folder / "conf/zoo.cfg").write_text(
            f"clientPort={self._zookeeper}\ndataDir={folder}/zookeeper\ntickTime=2000\n"
            f"server.1=localhost:{free_port()}:{free_port()}\n"
        )
        (folder / "conf/config.yaml").write_text(settings)
        self._home = home
        self._numbers = itertools.count()
        self._environment = {
            **os.environ,
            "FLINK_CONF_DIR": str(folder / "conf"),
            "FLINK_LOG_DIR": str(folder / "log"),
            "FLINK_PID_DIR": str(folder),
            "PYTHONPATH": str(ROOT),  # for the workers of a TaskManager
        }

    def start(self, task_managers: int) -> None:
        if self._zookeeper:
            self._keeper = self._start("zookeeper", "1")
        self.start_job_manager()
        for _ in range(task_managers):
            self.start_task_manager()
        self.wait_for_task_managers(task_managers)

    def start_job_manager(self) -> None:
        self._job_manager = self._start("jobmanager")
        wait_until(lambda: self.get("/overview"), START_S, "the JobManager does not answer")

    def start_task_manager(self) -> None:
        self._task_managers.append(self._start("taskmanager"))

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self.folder / f"log/{name}-{next(self._numbers)}.out", "wb") as output:
            return subprocess.Popen(
                ["bash", str(self._home / f"bin/{name}.sh"), "start-foreground", *arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_for_task_managers(self, count: int) -> None:
        wait_until(
            lambda: len(self.get("/taskmanagers")["taskmanagers"]) == count,
            START_S,
            f"there are not {count} TaskManagers; see {self.folder}/log",
        )

    def kill_job_manager(self) -> None:
        """Kill it with -9."""
        assert self._job_manager
        _kill(self._job_manager)

    def kill_task_manager(self) -> None:
        """Kill the oldest one and its workers with -9."""
        _kill(self._task_managers.pop(0))

    def stop(self) -> None:
        for process in (*self._task_managers, self._job_manager, self._keeper):
            if process:
                _kill(process)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=10) as response:
            return json.load(response)

    def jobs(self) -> list[dict[str, Any]]:
        """Return all jobs, the newest first."""
        jobs: list[dict[str, Any]] = self.get("/jobs/overview")["jobs"]
        return sorted(jobs, key=lambda job: -job["start-time"])

    def failures(self, job: dict[str, Any]) -> list[Any]:
        """Return the failures of a job that led to retries."""
        entries = self.get(f"/jobs/{job['jid']}/exceptions")["exceptionHistory"]["entries"]
        return list(entries)

    def cancel(self, job: dict[str, Any]) -> None:
        """Cancel a job, as by its page."""
        url = f"http://{self.address}/jobs/{job['jid']}"
        urllib.request.urlopen(urllib.request.Request(url, method="PATCH"), timeout=10).close()

    def records_by_slot(self, job: dict[str, Any], stage: str) -> list[int]:
        """Return the number of records of each slot in the stage of that name."""
        vertices = self.get(f"/jobs/{job['jid']}")["vertices"]
        [vertex] = [each["id"] for each in vertices if stage in each["name"]]
        subtasks = self.get(f"/jobs/{job['jid']}/vertices/{vertex}")["subtasks"]
        return [subtask["metrics"]["read-records"] for subtask in subtasks]


@contextlib.contextmanager
def running(folder: Path, *, task_managers: int, available: bool = False) -> Iterator[Cluster]:
    """Run a cluster until the context exits."""
    cluster = Cluster(folder, available=available)
    try:
        cluster.start(task_managers)
        yield cluster
    finally:
        cluster.stop()


def wait_for_stage(output: Path, stage: str) -> None:
    """Wait until a stage of a build has begun, judged by its output files."""
    patterns = {
        "submit": "data/.job-1.0.0/job.json",
        "read": "data/.job-1.0.0/progress/read-*",
        "inspect": "data/.job-1.0.0/progress/inspect-*",
        "write": "data/.building-1.0.0/*/receipts/*.json",
    }
    wait_until(lambda: list(output.glob(patterns[stage])), TEST_S, f"nobody is at {stage}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@dataclasses.dataclass
class Launcher:
    """A build's command as a user starts it."""

    process: subprocess.Popen[str]
    mark: str
    output: Path

    def finish(self) -> tuple[int, str]:
        """Wait for (exit code, stderr), and check that no process is left."""
        code = self.process.wait(TEST_S)
        wait_until(lambda: not self.processes(), 20, "processes of the launcher are left")
        return code, self.text()

    def text(self) -> str:
        return self.output.read_text()

    def processes(self) -> list[str]:
        """Return the command lines of its child processes, such as the job server."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.text(), TEST_S, f"no {text!r} in {self.text()}")
