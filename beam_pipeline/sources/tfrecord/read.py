"""Anybody's TFRecord files: every record is an Example, and stays the very same bytes."""

import contextlib
import dataclasses
import itertools
import zlib
from collections.abc import Iterator, Mapping, Sequence

import apache_beam as beam

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.inspect.stored_example import expectations
from beam_pipeline.records import Element, FileRef, Record, Rejected
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.paths import left_out
from beam_pipeline.sources.tfrecord.files import RecordFile, find_record_files
from beam_pipeline.sources.unpacking import unpack_gzip, unpacked, with_ranges
from beam_pipeline.stored_lists import Expectation
from beam_pipeline.tfrecord import frames
from tfrecord_dataset.frames import payload_of
from tfrecord_dataset.inflation import TOO_LARGE

# The first records of a dataset: so many in all, and so many of a file.
_FIRST_RECORDS = 256
_FIRST_OF_A_FILE = 64

_BLOCK_BYTES = 1 << 16
_GZIP = 31  # zlib's wbits


@dataclasses.dataclass
class ReadTFRecords(beam.PTransform):
    """Records of TFRecord files, plain or gzip: `<file>:<number>`, Examples that stay as they are.

    Yields a Record for every frame, of which only the length was read; the split is what
    the files' names state. A file that ends too early gives its whole records and one Rejected;
    files of another kind are Rejected.

    Attributes:
        path: A folder, a file, or a pattern of files.
        scratch: The folder where gzip files are unpacked.
        ignored: Files that are left out.
    """

    path: str
    scratch: str
    ignored: Ignored = NOTHING

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[Element]:
        files, rejected = find_record_files(self.path, self.ignored)
        expected = expectations(first_records(files))
        return (
            pipeline
            | "Files" >> beam.Create([*files, *rejected])
            | "BalanceFiles" >> beam.Reshuffle()  # RecordFile | Rejected
            | "ListRecords" >> beam.FlatMap(list_records, self.scratch, expected)  # Element
        )


def list_records(
    file: RecordFile | Rejected, scratch: str, expected: Mapping[str, Expectation]
) -> Iterator[Element]:
    """A Record for every whole frame of `file`, and a Rejected where they end too early."""
    if isinstance(file, Rejected):
        yield file
        return
    path, problem = file.path, None
    number = -1
    try:
        if file.compressed:
            path, problem = _unpacked(file.path, scratch)
        else:
            path = with_ranges(file.path, scratch)
        with storage.opened(path) as handle:
            for number, (offset, length) in enumerate(frames.spans(handle)):
                yield Record(
                    key=f"{file.relative}:{number}",
                    features={},
                    split=file.split,
                    example=FileRef(path=path, offset=offset, length=length),
                    expected=expected,
                )
    except RecordError as error:
        problem = problem or error
    if problem:
        yield Rejected(source=file.relative, reason=problem.reason, detail=problem.detail)
    elif number < 0:
        yield left_out(file.relative, "no records", "the file is empty")


def _unpacked(path: str, scratch: str) -> tuple[str, RecordError | None]:
    """The unpacked file; of a damaged one what comes before the damage, and what that is."""
    try:
        return unpack_gzip(path, scratch), None
    except RecordError as error:
        if error.reason == TOO_LARGE:
            raise
        return unpacked(path, "until damage", scratch, _until_damage(path)), error


def _until_damage(path: str) -> Iterator[bytes]:
    """All that can be unpacked; Python's own reader drops what it holds when it finds damage."""
    with contextlib.suppress(zlib.error), storage.opened(path) as handle:
        unpacking = zlib.decompressobj(_GZIP)
        while packed := handle.read(_BLOCK_BYTES):
            while packed:
                before = unpacking.copy()
                try:
                    yield unpacking.decompress(packed)
                except zlib.error:  # which drops what the block holds before the damage
                    yield from (before.decompress(bytes([byte])) for byte in packed)
                packed = unpacking.unused_data
                if unpacking.eof:
                    unpacking = zlib.decompressobj(_GZIP)


def first_records(files: Sequence[RecordFile]) -> Iterator[tuple[str, bytes]]:
    """(source, payload) of the first records of a dataset, as far as they are whole."""
    found = itertools.chain.from_iterable(map(_first_of_file, files))
    return itertools.islice(found, _FIRST_RECORDS)


def _first_of_file(file: RecordFile) -> Iterator[tuple[str, bytes]]:
    with contextlib.suppress(RecordError):  # the listing tells of it
        records = frames.read_file(file.path, file.compressed)
        for number, (_, frame) in enumerate(itertools.islice(records, _FIRST_OF_A_FILE)):
            with contextlib.suppress(RecordError):
                yield f"{file.relative}:{number}", payload_of(frame)
