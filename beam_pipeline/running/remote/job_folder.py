"""What lies in a job's folder: the job's record, and its problem if it has one.

An error that is raised in a stage is retried by the cluster, ten times on some, and comes back
inside a traceback of two languages; some runners forget its text. So one that no other attempt
would heal is left as a small file, the stage yields nothing, and the launcher raises it.
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
from tfrecord_dataset import json_file, sealed_json

_MAX_BYTES = 1 << 20
_KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type)
    and issubclass(kind, errors.BeamTFRecordsError)
    and kind is not errors.RecordError  # it has no message of its own
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobRecord:
    """What a launcher leaves for one that is run again, in job.json; it stays through a power cut.

    Attributes:
        job_name: The job's name on its cluster.
        build: What tells the build from others.
        replaces: What marks the dataset that was there before; "" for none.
    """

    job_name: str
    build: str
    replaces: str

    def write(self, path: str) -> None:
        """Writes the record of a job."""
        text = sealed_json.sealed(dataclasses.asdict(self))
        storage.write_bytes(path, text.encode(), durable=True)

    @classmethod
    def read(cls, path: str) -> Self:
        """The record of a job.

        Raises:
            BeamTFRecordsError: It is damaged.
        """
        try:
            return sealed_json.unsealed(storage.read_bytes(FileRef(path=path), _MAX_BYTES), cls)
        except (ValueError, errors.RecordError) as error:
            raise errors.BeamTFRecordsError(
                f"{path}, which names the job that an earlier launcher started, is damaged: "
                f"{error}; see on the cluster's own pages that no job of this build runs, delete "
                f"{path.rpartition('/')[0]} and run the same command again"
            ) from error


@dataclasses.dataclass(frozen=True, slots=True)
class _Problem:
    error: str  # a key of _KINDS
    message: str


@contextlib.contextmanager
def handed_over(job: Job) -> Iterator[None]:
    """Leaves an error of this project for the launcher, where the job has one that looks."""
    try:
        yield
    except errors.BeamTFRecordsError as error:
        if not job.problem_file:
            raise
        leave(job.problem_file, error)


def check_folder(job: Job) -> None:
    """Raises ConfigError in a worker that does not see the folder that the launcher has made."""
    folder = job.problem_file.rpartition("/")[0]
    if folder and not storage.is_remote(folder) and not storage.is_directory(folder):
        raise errors.ConfigError(
            f"the worker on {platform.node()} does not see {folder}, which the launching machine "
            "has made; let --output be a bucket, or a folder of storage that all machines share"
        )


def leave(path: str, error: errors.BeamTFRecordsError) -> None:
    """Writes an error where `left` finds it; the first one stays: others may follow from it."""
    if storage.exists(path):
        return
    name = type(error).__name__
    known = name if name in _KINDS else errors.BeamTFRecordsError.__name__
    problem = _Problem(known, str(error))
    storage.write_bytes(path, json.dumps(dataclasses.asdict(problem)).encode())


def left(path: str) -> errors.BeamTFRecordsError | None:
    """The error that a stage left, or None; a damaged file is an error, too."""
    if not storage.exists(path):
        return None
    try:
        text = storage.read_text(path, _MAX_BYTES)
        problem: _Problem = json_file.typed(json_file.parse_object(text), _Problem)
        kind = _KINDS[problem.error]
    except (ValueError, KeyError, errors.RecordError) as error:
        return errors.BeamTFRecordsError(
            f"a stage of the job failed, and {path}, which says why, is damaged: {error}; the "
            "runner's own pages may say more. Run the same command again (build continues with "
            "the shards that are missing)"
        )
    return kind(problem.message)
