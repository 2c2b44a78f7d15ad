"""What is whole of one TFRecord file, written anew.

No Beam here: worker processes import this module.
"""

import contextlib
import dataclasses
import gzip
import heapq
import operator
import tempfile
from collections.abc import Iterator
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.inspect.stored_example import parse_example
from beam_pipeline.running.progress import Meter
from beam_pipeline.tfrecord.broken_gzip import unpack
from beam_pipeline.tfrecord.whole_frames import Gap, whole_frames
from tfrecord_dataset.frames import FOOTER_BYTES, HEADER_BYTES, starts_frame

_GZIP_MAGIC = b"\x1f\x8b"
_NO_EXAMPLE = "a record is no tf.train.Example with features"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DamagedFile:
    """A TFRecord file that may be damaged.

    Attributes:
        path: Absolute path or URL.
        file: Its path below the input, and below the output.
        num_records: How many it had; None where nothing states it.
    """

    path: str
    file: str
    num_records: int | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Something of a file that is gone.

    Attributes:
        file: The file.
        offset: Where it was, in bytes of the uncompressed file.
        length: Its bytes, as far as they are there.
        records_before: Whole records of the file before it.
        records_after: And behind it.
        cause: What is wrong.
    """

    file: str
    offset: int
    length: int
    records_before: int
    records_after: int
    cause: str


def salvage_file(
    damaged: DamagedFile, output: str, progress_dir: str, scratch: str
) -> tuple[int, list[Loss]]:
    """Writes the whole records of a file into the folder `output`; no file where there is none.

    Args:
        damaged: The file.
        output: Where they go, in a file of the same name.
        progress_dir: Where the progress is counted; empty for nowhere.
        scratch: A local folder that may be written to meanwhile.

    Returns:
        How many records were written, and what is gone.
    """
    meter = Meter(progress_dir, "salvage")
    gaps: list[tuple[Gap, int]] = []  # and the whole records before it
    num_records = end = 0
    try:
        compressed = _is_gzip(damaged.path)
        with contextlib.ExitStack() as stack:
            writer: Any = None
            for part in _parts(damaged, compressed, scratch):
                if isinstance(part, Gap):
                    _add(gaps, part, num_records)
                    continue
                offset, frame = part
                writer = writer or stack.enter_context(_writing(output, damaged.file, compressed))
                writer.write(frame)
                num_records += 1
                end = offset + len(frame)
                meter.add(1)
            if not (writer or gaps):  # it never had a record
                stack.enter_context(_writing(output, damaged.file, compressed))
    except RecordError as error:
        gaps.append((Gap(end, 0, str(error)), num_records))
    meter.beat()
    if not gaps and damaged.num_records not in (None, num_records):
        cause = f"metadata.json states {damaged.num_records:,} records, {num_records:,} are there"
        gaps.append((Gap(end, 0, cause), num_records))
    return num_records, [
        Loss(
            file=damaged.file,
            offset=gap.offset,
            length=gap.length,
            records_before=before,
            records_after=num_records - before,
            cause=gap.cause,
        )
        for gap, before in gaps
    ]


def _is_gzip(path: str) -> bool:
    """Whether a file is compressed; a plain one may start like gzip, too."""
    head = storage.read_start(path, HEADER_BYTES)
    return path.endswith(".gz") or (head[:2] == _GZIP_MAGIC and not starts_frame(head))


def _parts(
    damaged: DamagedFile, compressed: bool, scratch: str
) -> Iterator[tuple[int, bytes] | Gap]:
    """The (offset, frame) of the whole records of a file, and what lies between."""
    with storage.opened(damaged.path) as handle:
        if not compressed:
            yield from map(_examined, whole_frames(handle))
            return
        with tempfile.TemporaryFile(dir=scratch, buffering=0) as unpacked:
            gaps = unpack(handle, unpacked, damaged.file)
            yield from heapq.merge(
                gaps, map(_examined, whole_frames(unpacked)), key=operator.itemgetter(0)
            )


def _examined(part: tuple[int, bytes] | Gap) -> tuple[int, bytes] | Gap:
    """The same, but a gap where a frame holds no Example."""
    if isinstance(part, Gap):
        return part
    offset, frame = part
    try:
        parse_example(frame[HEADER_BYTES:-FOOTER_BYTES])
    except RecordError:
        return Gap(offset, len(frame), _NO_EXAMPLE)
    return part


def _add(gaps: list[tuple[Gap, int]], gap: Gap, before: int) -> None:
    """Adds a gap; it may go on with the last one."""
    if gaps:
        last, last_before = gaps[-1]
        follows = last.offset + last.length == gap.offset
        if follows and (last.cause, last_before) == (gap.cause, before):
            gaps[-1] = last._replace(length=last.length + gap.length), before
            return
    gaps.append((gap, before))


@contextlib.contextmanager
def _writing(output: str, file: str, compressed: bool) -> Iterator[Any]:
    with storage.writing(storage.join(output, file), durable=True) as handle:
        if not compressed:
            yield handle
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=handle, mtime=0) as packed:
            yield packed
