"""What a launcher leaves of its job for one that is run again: job.json in the job's folder."""

import dataclasses

from beam_pipeline.errors import BeamTFRecordsError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from tfrecord_dataset import sealed_json

_FILE = "job.json"
_MAX_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobRecord:
    """What a launcher leaves for one that is run again.

    Attributes:
        job_name: The job's name on its cluster.
        build: What tells the build from others.
        replaces: What marks the dataset that was there before; "" for none.
    """

    job_name: str
    build: str
    replaces: str


def is_there(folder: str) -> bool:
    """Whether a job's folder has its record."""
    return storage.exists(storage.join(folder, _FILE))


def write(folder: str, record: JobRecord) -> None:
    """Writes the record of a job; it stays through a power cut."""
    text = sealed_json.sealed(dataclasses.asdict(record))
    storage.write_bytes(storage.join(folder, _FILE), text.encode(), durable=True)


def read(folder: str) -> JobRecord:
    """The record of a job.

    Raises:
        BeamTFRecordsError: It is damaged.
    """
    path = storage.join(folder, _FILE)
    try:
        return sealed_json.unsealed(storage.read_bytes(FileRef(path=path), _MAX_BYTES), JobRecord)
    except (ValueError, RecordError) as error:
        raise BeamTFRecordsError(
            f"{path}, which names the job that an earlier launcher started, is damaged: {error}; "
            f"see on the cluster's own pages that no job of this build runs, delete {folder} and "
            "run the same command again"
        ) from error
