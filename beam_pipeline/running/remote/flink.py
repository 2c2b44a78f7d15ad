"""Flink: options that the user may leave out, and a job seen through Flink's REST interface."""

import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    JobServerOptions,
    PipelineOptions,
    PortableOptions,
)

from beam_pipeline.errors import ConfigError, UnavailableError
from beam_pipeline.running.remote import checks
from beam_pipeline.running.remote.clusters import Cluster, JobState
from beam_pipeline.running.remote.jars import cached_version, find_jar

_REST_S = 5.0
_REST_ATTEMPTS = 3
_STARTS = 503
_CACHE_MS = 60_000
# A job server does little, and for as long as the job takes to start: no second compiler.
_SHORT_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")
# The console script of `boot`.
WORKER_COMMAND = "beam-tfrecords-worker"
_STATES = {
    "FINISHED": JobState.FINISHED,
    "FAILED": JobState.FAILED,
    "CANCELED": JobState.CANCELLED,
}


class FlinkCluster(Cluster):
    """The cluster of `--flink_master`, or, without one, Flink inside Beam's job server.

    Attributes:
        rest: The URL of Flink's REST interface; "" where there is none to ask.
    """

    def __init__(self, options: PipelineOptions):
        self._options = options
        self._flink = options.view_as(FlinkRunnerOptions)
        self._portable = options.view_as(PortableOptions)
        master = self._flink.flink_master.strip()
        self.rest = ""
        if not master.startswith("["):
            self.rest = (master if "://" in master else f"http://{master}").rstrip("/")

    def prepare(self, output: str, inputs: Sequence[str]) -> None:
        """Checks the cluster, the jar, output and inputs; fills in what these say."""
        checks.check_job_endpoint(self._options)
        if self.rest:
            checks.check_reachable(
                self.rest,
                f"--flink_master={self._flink.flink_master}",
                "start the cluster, or give the address of its REST interface, such as "
                "localhost:8081",
            )
            try:
                self._choose_version()
                self._choose_parallelism()
                self._choose_environment()
            except OSError as error:  # its JobManager has just started, or ended
                raise UnavailableError(
                    f"Flink at {self.rest} cannot be asked now ({error}); see on its page that "
                    "its JobManager is well, then run the same command again"
                ) from error
        if not self._portable.environment_cache_millis:
            self._portable.environment_cache_millis = _CACHE_MS
        loopback = self._portable.environment_type == "LOOPBACK"
        seen = not self.rest or self._is_here() or loopback
        checks.check_places(output, inputs, seen, f"Flink at {self.rest}")
        if not self._portable.job_endpoint:
            self._choose_job_server()

    def _state(self, job: Any) -> JobState:
        return _STATES.get(job["state"], JobState.RUNNING)

    def _page(self, job: Any) -> str:
        """In Flink's web interface."""
        return f"{self.rest}/#/job/running/{job['jid']}/overview" if job else ""

    def _failure(self, job: Any) -> str:
        """The stack traces."""
        history = self._get(f"/jobs/{job['jid']}/exceptions")["exceptionHistory"]
        return "\n".join(entry["stacktrace"] for entry in history["entries"])

    def _cancel(self, job: Any) -> bool:
        """Over REST: Beam's own way only reaches the job server."""
        request = urllib.request.Request(f"{self.rest}/jobs/{job['jid']}", method="PATCH")
        try:
            urllib.request.urlopen(request, timeout=_REST_S).close()
        except urllib.error.HTTPError as error:
            return error.code in (404, 409)  # it has ended
        return True

    def _job(self, job_name: str) -> dict[str, Any] | None:
        if not self.rest:
            return None
        jobs = [each for each in self._get("/jobs/overview")["jobs"] if each["name"] == job_name]
        return max(jobs, key=lambda job: job["start-time"], default=None)

    def _get(self, path: str) -> Any:
        for attempt in range(_REST_ATTEMPTS):
            try:
                with urllib.request.urlopen(f"{self.rest}{path}", timeout=_REST_S) as response:
                    return json.load(response)
            except OSError as error:  # a JobManager that is busy, or starts
                answered = isinstance(error, urllib.error.HTTPError) and error.code != _STARTS
                if answered or attempt == _REST_ATTEMPTS - 1:
                    raise
                time.sleep(1)
        raise AssertionError

    def _is_here(self) -> bool:
        return checks.is_this_machine(urlsplit(self.rest).hostname or "")

    def _choose_version(self) -> None:
        try:
            found = self._get("/config")["flink-version"]
        except (urllib.error.HTTPError, ValueError, KeyError) as error:
            if isinstance(error, urllib.error.HTTPError) and error.code == _STARTS:
                raise
            raise ConfigError(
                f"--flink_master={self._flink.flink_master} is no REST interface of Flink "
                f"({error}); its port is 8081 by default"
            ) from error
        version = ".".join(found.split(".")[:2])
        asked = self._options.get_all_options(drop_default=True).get("flink_version", version)
        if asked != version:
            raise ConfigError(
                f"--flink_version={asked} does not fit the cluster, which is Flink {found}; leave "
                "it out"
            )
        self._flink.flink_version = version

    def _choose_parallelism(self) -> None:
        slots = self._get("/overview")["slots-total"]
        settings = {each["key"] for each in self._get("/jobmanager/config")}
        starts_workers = any(key.startswith(("kubernetes.", "yarn.")) for key in settings)
        if not slots and not starts_workers:
            raise UnavailableError(
                f"Flink at {self.rest} has no TaskManager now; start some, and run the same "
                "command again"
            )
        if slots < max(1, self._flink.parallelism) and not starts_workers:
            raise ConfigError(
                f"Flink at {self.rest} has {slots} slots, where --parallelism="
                f"{max(1, self._flink.parallelism)} needs as many; start more TaskManagers, or "
                "ask for less"
            )
        if self._flink.parallelism < 1 and slots:
            self._flink.parallelism = slots

    def _choose_environment(self) -> None:
        """Where Python's workers come from.

        Raises:
            ConfigError: Those that are asked for would not work.
        """
        portable = self._portable
        here = all(map(checks.is_this_machine, self._hosts()))
        if portable.environment_type is None and here:
            portable.environment_type = "PROCESS"
        kind = portable.environment_type = (portable.environment_type or "DOCKER").upper()
        given = portable.environment_config or portable.environment_options
        if kind == "PROCESS" and not given:
            command = _worker_command() if here else WORKER_COMMAND
            portable.environment_config = json.dumps({"command": command})
        if kind == "LOOPBACK":
            self._check_loopback()
        checks.check_environment(self._options)

    def _hosts(self) -> list[str]:
        """The machine of each TaskManager."""
        managers = self._get("/taskmanagers")["taskmanagers"]
        return [urlsplit(each["path"]).hostname or "" for each in managers]

    def _check_loopback(self) -> None:
        """A pool numbers its workers by TaskManager: the second one's stop the first one's."""
        if (number := len(self._hosts())) > 1:
            raise ConfigError(
                f"--environment_type=LOOPBACK serves one TaskManager, and there are {number}; use "
                "PROCESS, or one pool of workers beside each of them"
            )

    def _choose_job_server(self) -> None:
        """The jar of the job server, which ends with this process, however that ends."""
        server = self._options.view_as(JobServerOptions)
        java = server.job_server_java_launcher
        checks.check_java(self._options, "Flink")
        if not self.rest and "flink_version" not in self._options.get_all_options(
            drop_default=True
        ):  # any will do: it is inside the jar
            self._flink.flink_version = cached_version() or self._flink.flink_version
        self._flink.flink_job_server_jar = find_jar(
            self._flink.flink_job_server_jar, self._flink.flink_version
        )
        if all(map(shutil.which, ("setsid", "setpriv"))):
            server.job_server_java_launcher = "setsid"  # Ctrl-C in a terminal is not for it
            server.job_server_jvm_properties = [
                *("setpriv", "--pdeathsig", "TERM", java, *_SHORT_JVM),
                *server.job_server_jvm_properties,
            ]


def _worker_command() -> str:
    """The program of `boot` on this machine: beside Python's own."""
    beside = os.path.join(os.path.dirname(sys.executable), WORKER_COMMAND)
    found = beside if os.path.exists(beside) else shutil.which(WORKER_COMMAND)
    if not found:
        raise ConfigError(
            f"TaskManagers start Python's workers with {WORKER_COMMAND}, and there is none beside "
            f"{sys.executable}: install this package there with pip, or pass "
            '--environment_config=\'{"command": "PATH"}\''
        )
    return found
