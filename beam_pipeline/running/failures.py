"""This project's own error among those of a failed job.

A cluster retries a stage that raises, up to ten times, and reports the error in a traceback of two
languages, or not at all. A stage therefore writes an error that a retry cannot fix to a file in the
job's folder and yields nothing; the launcher raises it. Others are found in what the runner raises.
"""

import contextlib
import dataclasses
import json
import platform
import re
from collections.abc import Iterator

from apache_beam.typehints.decorators import TypeCheckError

from beam_pipeline import errors
from beam_pipeline.files import storage
from beam_pipeline.records import Record
from beam_pipeline.running.runner import Job
from tfrecord_dataset import json_file

_MAX_BYTES = 1 << 20
# Runners report a worker's error as text, after the tracebacks of its causes.
_OUR_ERROR = re.compile(
    r"(?:beam_pipeline|tfrecord_dataset)\.(?:errors|problems)\.(?P<name>\w+): (?P<message>.*?)"
    r"(?: \[while running .*?\])?(?:\\n|\n|$)"
)


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
            problem = _Problem(type(error).__name__, str(error))
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
    return _restored(problem.error, problem.message)


def _restored(name: str, message: str) -> errors.BeamTFRecordsError:
    """Return an error from the name of its class and its message."""
    kind = getattr(errors, name, errors.ConfigError)  # those of `beam_pipeline.problems`
    # A RecordError has no message of its own.
    return errors.BeamTFRecordsError(message) if kind is errors.RecordError else kind(message)


def check_folder(job: Job) -> None:
    """Raise ConfigError in a worker that does not see the launcher's folder."""
    folder = job.problem_file.rpartition("/")[0]
    if folder and not storage.is_remote(folder) and not storage.is_directory(folder):
        raise errors.ConfigError(
            f"the worker on {platform.node()} does not see {folder}, which the launching machine "
            "has made; set --output to a bucket, or to a folder that all machines share"
        )


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Replace an error that contains one of this project by that."""
    try:
        yield
    except Exception as error:
        if (ours := own_error(error)) in (None, error):
            raise
        raise ours from error


def own_error(error: BaseException, text: str = "") -> errors.BeamTFRecordsError | None:
    """Return this project's own error in what a runner raised: as cause, or as text.

    `text` is what its cluster reports.
    """
    if isinstance(error, TypeCheckError) and f"{Record.__module__}.Record" in str(error):
        given = str(error).rpartition("got ")[2]
        return errors.ConfigError(
            f"the source yields {given}; yield Record, Rejected or DeclaredClasses"
        )
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, errors.BeamTFRecordsError):
            return cause
        cause = cause.__cause__
    for stated in (str(error), text):
        if matches := list(_OUR_ERROR.finditer(stated)):
            return _restored(matches[-1]["name"], matches[-1]["message"])
    return None
