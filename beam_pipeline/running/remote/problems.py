"""How a stage on a cluster tells the launcher of an error that no other attempt would heal.

An error that is raised in a stage is retried by the cluster, ten times on some, and comes back
inside a traceback of two languages; some runners forget its text. So it is left as a small file
in the job's folder, the stage yields nothing, and the launcher raises it.
"""

import contextlib
import json
import platform
from collections.abc import Iterator

from beam_pipeline import errors
from beam_pipeline.files import storage
from beam_pipeline.running.runner import Job


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
    kind = type(error)
    if kind is errors.RecordError:  # its reason and detail are in its text
        kind = errors.BeamTFRecordsError
    problem = {"error": kind.__name__, "message": str(error)}
    storage.write_bytes(path, json.dumps(problem).encode())


def left(path: str) -> errors.BeamTFRecordsError | None:
    """The error that a stage left, or None."""
    if not storage.exists(path):
        return None
    problem = json.loads(storage.read_text(path))
    error: errors.BeamTFRecordsError = getattr(errors, problem["error"])(problem["message"])
    return error
