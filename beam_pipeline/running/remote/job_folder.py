"""Files in a job's folder: its record, and its problem if it has one.

A cluster retries a stage that raises, up to ten times, and reports the error in a traceback of two
languages, or not at all. A stage therefore writes an error that a retry cannot fix to a file and
yields nothing; the launcher raises it.
"""

import contextlib
import dataclasses
import json
import platform
from collections.abc import Iterator
from typing import Self

from beam_pipeline import errors
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.running.runner import Job
from tfrecord_dataset import json_file

_MAX_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobRecord:
    """Record of a job for a later launcher; it survives a power cut.

    Attributes:
        replaces: Identity of the dataset that existed before; "" if none did.
    """

    job_name: str
    build: str
    replaces: str

    def write(self, path: str) -> None:
        """Write the record to disk."""
        text = json_file.sealed(dataclasses.asdict(self))
        storage.write_bytes(path, text.encode(), durable=True)

    @classmethod
    def read(cls, path: str) -> Self:
        """Read a record; BeamTFRecordsError if it is damaged."""
        try:
            return json_file.unsealed(storage.read_bytes(FileRef(path=path), _MAX_BYTES), cls)
        except (ValueError, errors.RecordError) as error:
            raise errors.BeamTFRecordsError(
                f"{path}, which names a running job, is damaged: {error}; check that the cluster "
                f"runs no job of this build, then delete {path.rpartition('/')[0]}"
            ) from error


@dataclasses.dataclass(frozen=True, slots=True)
class _Problem:
    error: str  # name of a class in `errors`
    message: str


@contextlib.contextmanager
def errors_handed_over(job: Job) -> Iterator[None]:
    """Write an error of this project for the launcher; raise it if the job has no launcher."""
    try:
        yield
    except errors.BeamTFRecordsError as error:
        if not job.problem_file:
            raise
        # The first one stays, as others may follow from it.
        if not storage.exists(job.problem_file):
            # A RecordError has no message of its own.
            is_of_record = isinstance(error, errors.RecordError)
            kind = errors.BeamTFRecordsError if is_of_record else type(error)
            problem = _Problem(kind.__name__, str(error))
            text = json.dumps(dataclasses.asdict(problem))
            storage.write_bytes(job.problem_file, text.encode())


def read_problem(path: str) -> errors.BeamTFRecordsError | None:
    """Read the error that a stage wrote; None if there is none."""
    if not storage.exists(path):
        return None
    try:
        text = storage.read_text(path, _MAX_BYTES)
        problem: _Problem = json_file.typed(json_file.parse_object(text), _Problem)
    except (ValueError, errors.RecordError) as error:
        return errors.BeamTFRecordsError(
            f"a stage of the job failed, and {path} with the reason is damaged: {error}; see the "
            "runner's own pages, or run the same command again"
        )
    kind: type[errors.BeamTFRecordsError] = getattr(
        errors, problem.error, errors.BeamTFRecordsError
    )
    return kind(problem.message)


def check_folder(job: Job) -> None:
    """Raise ConfigError in a worker that does not see the launcher's folder."""
    folder = job.problem_file.rpartition("/")[0]
    if folder and not storage.is_remote(folder) and not storage.is_directory(folder):
        raise errors.ConfigError(
            f"the worker on {platform.node()} does not see {folder}, which the launching machine "
            "has made; set --output to a bucket, or to a folder that all machines share"
        )
