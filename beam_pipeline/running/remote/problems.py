"""How a stage on a cluster tells the launcher of an error that no other attempt would heal.

An error that is raised in a stage is retried by the cluster, ten times on some, and comes back
inside a traceback of two languages; some runners forget its text. So it is left as a small file
in the job's folder, the stage yields nothing, and the launcher raises it.
"""

import contextlib
import dataclasses
import json
import platform
from collections.abc import Iterator

from beam_pipeline import errors
from beam_pipeline.files import storage
from beam_pipeline.running.runner import Job
from tfrecord_dataset import json_file

_MAX_BYTES = 1 << 20
_KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type)
    and issubclass(kind, errors.BeamTFRecordsError)
    and kind is not errors.RecordError  # it has no message of its own
}


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
