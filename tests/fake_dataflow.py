"""Local Google Cloud: Cloud Storage with both of its APIs, and a Dataflow that runs jobs.

Beam stages files through the JSON API; beam_pipeline uses the XML API of `fake_store`.
"""

import base64
import dataclasses
import json
import re
import threading
import traceback
import urllib.parse
from collections.abc import Callable
from typing import Any

import google_crc32c
from fake_store import FakeStore, Handler

_JOBS = re.compile(r"/v1b3/projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/jobs")
_ENDED = frozenset(f"JOB_STATE_{name}" for name in ("DONE", "FAILED", "CANCELLING", "CANCELLED"))


@dataclasses.dataclass
class Job:
    """A submitted job.

    Attributes:
        id: Identifier in the service.
        project, location: Project and location of the job.
        request: The submission's JSON.
        state: Dataflow's name of the state.
        error: Error of its workers.
    """

    id: str
    project: str
    location: str
    request: dict[str, Any]
    state: str = "JOB_STATE_PENDING"
    error: str = ""

    @property
    def name(self) -> str:
        """The job's name, chosen by the user."""
        return str(self.request["name"])

    @property
    def options(self) -> dict[str, Any]:
        """Pipeline options as the workers get them."""
        options: dict[str, Any] = self.request["environment"]["sdkPipelineOptions"]["options"]
        return options

    @property
    def workers(self) -> dict[str, Any]:
        """Requested machines of the workers."""
        (pool,) = self.request["environment"]["workerPools"]
        return dict(pool)

    def described(self) -> dict[str, Any]:
        """The service's response to a status request."""
        return {
            "id": self.id,
            "name": self.name,
            "projectId": self.project,
            "location": self.location,
            "clientRequestId": self.request.get("clientRequestId"),
            "currentState": self.state,
            "createTime": f"2026-01-01T00:00:00.{int(self.id.rpartition('-')[2]):06}Z",
        }


class FakeDataflow(FakeStore):
    """Cloud Storage and a Dataflow service at the same port.

    Attributes:
        run_job: Runs a job; returns its error, or "".
        jobs: Submitted jobs in order.
        gate: Jobs start once it is set.
        refusal: Message for every request about jobs, with status 403; "" to accept them.
    """

    def __init__(self, run_job: Callable[[Job], str]):
        super().__init__(_GoogleHandler)
        # Beam uses HTTP without TLS only for "localhost".
        self.endpoint = self.endpoint.replace("127.0.0.1", "localhost")
        self.run_job = run_job
        self.jobs: list[Job] = []
        self.gate = threading.Event()
        self.gate.set()
        self.refusal = ""
        self._threads: dict[str, threading.Thread] = {}

    def submit(self, project: str, location: str, request: dict[str, Any]) -> Job:
        """Accept a job, and start it."""
        active = [job for job in self.jobs if job.state not in _ENDED]
        for job in active:
            if job.name == request["name"]:
                return job
        job = Job(f"job-{len(self.jobs)}", project, location, request)
        self.jobs.append(job)
        thread = self._threads[job.id] = threading.Thread(target=self._run, args=(job,))
        thread.daemon = True
        thread.start()
        return job

    def wait(self, job: Job) -> None:
        """Wait for the end of a job."""
        self._threads[job.id].join()

    def _run(self, job: Job) -> None:
        job.state = "JOB_STATE_RUNNING"
        self.gate.wait()
        if job.state in _ENDED:
            return
        try:
            job.error = self.run_job(job)
        except Exception:
            job.error = traceback.format_exc()
        with self.lock:
            if job.state == "JOB_STATE_RUNNING":
                job.state = "JOB_STATE_FAILED" if job.error else "JOB_STATE_DONE"
            elif job.state == "JOB_STATE_CANCELLING":
                job.state = "JOB_STATE_CANCELLED"


class _GoogleHandler(Handler):
    def _serve(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        store = self.server.store
        assert isinstance(store, FakeDataflow)
        jobs = _JOBS.match(url.path)
        if not jobs and not re.match(r"/(upload/|download/)?storage/v1/", url.path):
            super()._serve()
            return
        self.query = dict(urllib.parse.parse_qsl(url.query))
        self.body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if jobs and store.refusal:
            error = {"error": {"code": 403, "message": store.refusal}}
            self._answer(403, json.dumps(error).encode())
        elif jobs:
            self._say(self._job_call(store, jobs, url.path[jobs.end() :].strip("/").split("/")))
        else:
            bucket, _, name = re.sub(r"^.*?/b/", "", url.path).partition("/o")
            self._object_call(store, bucket, urllib.parse.unquote(name.lstrip("/")))

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve

    def _say(self, answer: dict[str, Any] | None, **headers: str) -> None:
        body = json.dumps(answer or {"error": {"code": 404, "message": "Not Found"}}).encode()
        self._answer(200 if answer is not None else 404, body, **headers)

    def _job_call(
        self, store: FakeDataflow, jobs: re.Match[str], path: list[str]
    ) -> dict[str, Any] | None:
        if path == [""] and self.command == "GET":
            named = [job for job in store.jobs if self.query.get("name") in (None, job.name)]
            return {"jobs": [job.described() for job in named]}
        if path == [""]:
            job = store.submit(jobs["project"], jobs["location"], json.loads(self.body))
            return job.described()
        found = [job for job in store.jobs if job.id == path[0]]
        if not found:
            return None
        job = found[0]
        match path[1:]:
            case ["messages"] if job.error:
                message = {
                    "id": "1",
                    "time": "2026-01-01T00:00:01Z",
                    "messageImportance": "JOB_MESSAGE_ERROR",
                    "messageText": job.error,
                }
                return {"jobMessages": [message]}
            case ["messages"]:
                return {"jobMessages": []}
            case ["metrics"]:
                return {"metrics": []}
        if self.command == "PUT":  # the real service takes minutes
            assert json.loads(self.body)["requestedState"] == "JOB_STATE_CANCELLED"
            with store.lock:
                if job.state not in _ENDED:
                    job.state = "JOB_STATE_CANCELLING"
        return job.described()

    def _object_call(self, store: FakeDataflow, bucket: str, name: str) -> None:
        place = f"{bucket}/{name}" if name else ""
        match self.command:
            case "POST":  # a resumable upload: its session is the object's own URL
                place = f"{bucket}/{self.query.get('name') or json.loads(self.body)['name']}"
                session = f"{store.endpoint}/upload/storage/v1/b/{bucket}/o/"
                session += urllib.parse.quote(place.partition("/")[2], safe="")
                self._say({}, Location=session)
            case "PUT":
                with store.lock:
                    begun = self.headers["content-range"].startswith(("bytes 0-", "bytes *"))
                    store.objects[place] = (b"" if begun else store.objects[place]) + self.body
                self._say(self._resource(store, place))
            case "GET" if not name:
                self._say({"name": bucket} if bucket in store.buckets else None)
            case "GET" if self.query.get("alt") == "media" and place in store.objects:
                self.place = place
                self._get(store)
            case "DELETE":
                self._say({} if store.objects.pop(place, None) is not None else None)
            case _:
                self._say(self._resource(store, place))

    def _resource(self, store: FakeDataflow, place: str) -> dict[str, Any] | None:
        data = store.objects.get(place)
        if data is None:
            return None
        bucket, _, name = place.partition("/")
        checksum = base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode()
        return {"bucket": bucket, "name": name, "size": str(len(data)), "crc32c": checksum}
