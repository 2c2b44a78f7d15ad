"""Flink: completes and checks options, and follows a job through Flink's REST interface."""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import requests
import requests.adapters
import urllib3
from apache_beam.options.pipeline_options import FlinkRunnerOptions, PipelineOptions
from apache_beam.utils.subprocess_server import JavaJarServer

from beam_pipeline.errors import ConfigError, UnavailableError
from beam_pipeline.running.remote import preflight
from beam_pipeline.running.remote.clusters import JobState, PortableCluster, SeenJob
from tfrecord_dataset.store.user_cache import cache_folder

_REST_S = 5.0
_STARTS = 503
# For a JobManager that is busy or starts.
_RETRIES = urllib3.Retry(total=2, backoff_factor=1, status_forcelist=[_STARTS])
# From stage to stage workers stay; a retry waits longer, so it does not get one that died.
_CACHE_MS = 5_000
# Of docker/flink/split_jar.py, in the lib of a cluster.
_BEAM_JAR = "beam.jar"
# The console script of `boot`.
WORKER_COMMAND = "beam-tfrecords-worker"
_STATES = {"FINISHED": JobState.DONE, "FAILED": JobState.FAILED, "CANCELED": JobState.CANCELLED}


class FlinkCluster(PortableCluster):
    """The cluster of `--flink_master`, whose JobManager or job server translates the job."""

    def __init__(self, options: PipelineOptions):
        super().__init__(options)
        self._flink = options.view_as(FlinkRunnerOptions)
        master = self._flink.flink_master.strip()
        self.rest = ""
        if not master.startswith("["):
            self.rest = (master if "://" in master else f"http://{master}").rstrip("/")
        self._session = requests.Session()
        self._session.mount("http", requests.adapters.HTTPAdapter(max_retries=_RETRIES))

    def prepare(self, output: str, inputs: Sequence[str]) -> None:
        """Check the cluster, the jar, output and inputs; complete the options."""
        self._check_endpoint()
        if not (self.rest or self._endpoint):
            raise ConfigError(
                "--runner=FlinkRunner needs --flink_master=HOST:8081, the REST interface of a "
                "session cluster"
            )
        if self.rest:
            preflight.check_reachable(
                self.rest,
                f"--flink_master={self._flink.flink_master}",
                "start the cluster, or give the address of its REST interface, such as "
                "localhost:8081",
            )
            try:
                self._choose_version()
                self._choose_parallelism()
                self._choose_environment()
                if not self._endpoint:
                    self._choose_jar()
            except OSError as error:  # its JobManager has just started, or ended
                raise UnavailableError(
                    f"Flink at {self.rest} does not answer ({error}); check its JobManager, then "
                    "run the same command again"
                ) from error
        if not self._portable.environment_cache_millis:
            self._portable.environment_cache_millis = _CACHE_MS
        is_loopback = self._portable.environment_type == "LOOPBACK"
        are_seen = not self.rest or is_loopback or preflight.is_this_machine(_host(self.rest))
        preflight.check_paths(output, inputs, are_seen, f"Flink at {self.rest}")

    def find(self, job_name: str) -> SeenJob | None:
        """Return the newest job of this name; None if the cluster knows none."""
        if not self.rest:
            return None
        jobs = [each for each in self._get("/jobs/overview")["jobs"] if each["name"] == job_name]
        if not jobs:
            return None
        newest = max(jobs, key=lambda job: job["start-time"])
        page = f"{self.rest}/#/job/running/{newest['jid']}/overview"
        return SeenJob(newest["jid"], _STATES.get(newest["state"], JobState.RUNNING), page)

    def failure(self, job: SeenJob) -> str:
        """Return the stack traces of the job's failures so far, the last one last."""
        history = self._get(f"/jobs/{job.id}/exceptions")["exceptionHistory"]
        entries = sorted(history["entries"], key=lambda entry: entry["timestamp"])
        return "\n".join(entry["stacktrace"] for entry in entries)

    def cancel(self, job: SeenJob) -> None:
        """Cancel the job; Beam's own way only reaches the job server."""
        self._session.patch(f"{self.rest}/jobs/{job.id}", timeout=_REST_S)

    def _get(self, path: str) -> Any:
        answer = self._session.get(f"{self.rest}{path}", timeout=_REST_S)
        answer.raise_for_status()
        return answer.json()

    def _choose_version(self) -> None:
        try:
            of_cluster = self._get("/config")["flink-version"]
        except (requests.HTTPError, ValueError, KeyError) as error:
            raise ConfigError(
                f"--flink_master={self._flink.flink_master} is not the REST interface of Flink "
                f"({error}); its port is 8081 by default"
            ) from error
        version = ".".join(of_cluster.split(".")[:2])
        asked = self._options.get_all_options(drop_default=True).get("flink_version", version)
        if asked != version:
            raise ConfigError(
                f"--flink_version={asked} does not fit the cluster, which is Flink {of_cluster}; "
                "leave it out"
            )
        self._flink.flink_version = version

    def _choose_parallelism(self) -> None:
        slots = self._get("/overview")["slots-total"]
        settings = {each["key"] for each in self._get("/jobmanager/config")}
        starts_workers = any(key.startswith(("kubernetes.", "yarn.")) for key in settings)
        wanted = max(1, self._flink.parallelism)
        if not slots and not starts_workers:
            raise UnavailableError(
                f"Flink at {self.rest} has no TaskManager; start some, and run the same command "
                "again"
            )
        if slots < wanted and not starts_workers:
            raise ConfigError(
                f"Flink at {self.rest} has {slots} slots, but --parallelism={wanted} needs as "
                "many; start more TaskManagers, or ask for less"
            )
        if self._flink.parallelism < 1 and slots:
            self._flink.parallelism = slots

    def _choose_environment(self) -> None:
        """Choose how Python's workers start; ConfigError for an environment that cannot work."""
        portable = self._portable
        managers = [_host(each["path"]) for each in self._get("/taskmanagers")["taskmanagers"]]
        are_here = all(map(preflight.is_this_machine, managers))
        if portable.environment_type is None and are_here:
            portable.environment_type = "PROCESS"
        kind = portable.environment_type = (portable.environment_type or "DOCKER").upper()
        given = portable.environment_config or portable.environment_options
        if kind == "PROCESS" and not given:
            command = _worker_command() if are_here else WORKER_COMMAND
            portable.environment_config = json.dumps({"command": command})
        # A pool numbers its workers by TaskManager: the second one's stop the first one's.
        if kind == "LOOPBACK" and len(managers) > 1:
            raise ConfigError(
                f"--environment_type=LOOPBACK serves one TaskManager, and there are "
                f"{len(managers)}; use PROCESS, or a pool of workers on each TaskManager's machine"
            )
        self._check_environment()

    def _choose_jar(self) -> None:
        """Choose the jar of the job, which the JobManager translates.

        It has Beam's classes unless they are in Flink's `lib`. For `DOCKER` it always has them, as
        they look for the files that workers fetch in their own jar. One that was not made is
        downloaded from Maven.

        Raises:
            ConfigError: The cluster takes no jars, or there is none.
        """
        if not self._get("/config").get("features", {}).get("web-submit"):
            raise ConfigError(
                f"Flink at {self.rest} takes no jobs with a jar; set web.submit.enable: true "
                "there, or pass --job_endpoint=HOST:PORT of a job server"
            )
        version = self._flink.flink_version
        classpath = self._get("/jobmanager/environment")["classpath"]
        has_beam = _BEAM_JAR in map(os.path.basename, classpath)
        is_small = has_beam and self._portable.environment_type != "DOCKER"
        kinds = ("submit", "job-server") if is_small else ("job-server",)
        made = (cache_folder() / f"flink-{kind}-{version}.jar" for kind in kinds)
        jar = self._flink.flink_job_server_jar or next(
            (str(jar) for jar in made if jar.exists()), ""
        )
        target = f":runners:flink:{version}:job-server:shadowJar"
        try:
            jar = JavaJarServer.local_jar(jar or JavaJarServer.path_to_beam_jar(target))
        except (ValueError, RuntimeError, OSError) as error:
            raise ConfigError(
                f"there is no jar to send with the job ({error}); run `make flink-jar "
                f"FLINK={version}`, or pass --flink_job_server_jar, Beam's job server for Flink"
            ) from error
        self._flink.flink_submit_uber_jar = self.is_polled = True
        self._flink.flink_job_server_jar = jar


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _worker_command() -> str:
    """Return the path of `boot`'s program on this machine, next to Python's own."""
    path = os.path.join(os.path.dirname(sys.executable), WORKER_COMMAND)
    command = path if os.path.exists(path) else shutil.which(WORKER_COMMAND)
    if not command:
        raise ConfigError(
            f"TaskManagers start workers with {WORKER_COMMAND}, which {sys.executable} does not "
            "have; install this package there with pip, or pass "
            '--environment_config=\'{"command": "PATH"}\''
        )
    return command
