"""WriteShards: each shard's records are sorted, read again, encoded and written by one worker.

Beam's own sink opens, frames, compresses and names the files. What is replaced is the
assignment to shards, which Beam draws at random, and the moment of encoding: until here a
record is a reference, so that no payload crosses a shuffle.

Everything is written below one working directory, whose name derives from the build's
fingerprint. A shard is finished once its receipt lies there; a build that is started again
takes finished shards as they are.
"""

import dataclasses
import hashlib
import itertools
import json
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Self

import apache_beam as beam
from apache_beam.io import WriteToTFRecord
from apache_beam.io.filesystem import CompressedFile, CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.io.tfrecordio import _TFRecordSink

from beam_pipeline import sharding, storage
from beam_pipeline.census import Plan
from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import index
from beam_pipeline.encoding import example_values
from beam_pipeline.errors import BeamTFRecordsError, RecordError, SourceChangedError
from beam_pipeline.example import encode
from beam_pipeline.media.images import ImageOptions, encode_image
from beam_pipeline.parallel import choose_threads, map_ordered
from beam_pipeline.progress import Meter
from beam_pipeline.records import Image, Record, unpack
from beam_pipeline.schema import Feature

# Framing around a record: length and two checksums (TFRecord's format).
_FRAME_BYTES = 16


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ShardInfo:
    """What a written shard says of itself: its receipt.

    Attributes:
        split: The shard's split.
        shard: Its number in the split.
        file: Its final file name.
        num_records: Records in it.
        num_bytes: Bytes of the records before compression, with their framing.
        sha256: Hex digest of the file as it lies on disk.
        contents: Hex digest of all that decided its bytes; a resumed build compares it.
        temporary: Where its files lie until the commit, by final path in the data set.
    """

    split: str
    shard: int
    file: str
    num_records: int
    num_bytes: int
    sha256: str
    contents: str
    temporary: dict[str, str]

    def to_json(self) -> str:
        """The receipt's text."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The receipt of `to_json`.

        Raises:
            ValueError, TypeError: `text` is none, for instance because its writer was killed.
        """
        return cls(**json.loads(text))


class _Hashing:
    """A file handle that hashes what is written."""

    def __init__(self, handle: Any):
        self._handle = handle
        self.sha256 = hashlib.sha256()

    def write(self, data: bytes) -> None:
        self.sha256.update(data)
        self._handle.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)


class ShardSink(_TFRecordSink):
    """Beam's TFRecord sink; it hashes the file that it writes."""

    def open(self, temp_path: str) -> Any:
        # FileSystems.create would compress above the hash; the hash is the file's on disk.
        self.hashing = _Hashing(
            FileSystems.create(temp_path, self.mime_type, CompressionTypes.UNCOMPRESSED)
        )
        if self.compression_type == CompressionTypes.UNCOMPRESSED:
            return self.hashing
        return CompressedFile(self.hashing, self.compression_type)


class WriteShards(WriteToTFRecord):
    """("<split>/<shard>", packed batch of records) to one ShardInfo a shard.

    The shards lie in the working directory; `commit.Commit` moves them to their final names.
    """

    def __init__(self, config: BuildConfig, plan: beam.PCollection[Plan], progress_dir: str = ""):
        super().__init__(
            file_path_prefix=storage.join(config.dataset_dir, config.name),
            compression_type=compression_type(config.compression),
        )
        self._config = config
        self._plan = plan
        self._progress_dir = progress_dir

    def expand(self, placed: beam.PCollection[tuple[str, bytes]]) -> beam.PCollection[ShardInfo]:
        return (
            placed
            | "GroupByShard" >> beam.GroupByKey()
            | "WriteShard"
            >> beam.ParDo(
                _WriteShard(self._config, self._progress_dir),
                plan=beam.pvalue.AsSingleton(self._plan),
            )
        )


def compression_type(compression: str) -> str:
    """Beam's name for a value of `--compression`."""
    types = {"none": CompressionTypes.UNCOMPRESSED, "gzip": CompressionTypes.GZIP}
    return str(types[compression])


def split_sink(config: BuildConfig, split: str) -> ShardSink:
    """The sink that opens and names the shards of a split."""
    return ShardSink(
        file_path_prefix=storage.join(config.dataset_dir, f"{config.name}-{split}.tfrecord"),
        coder=beam.coders.BytesCoder(),
        file_name_suffix="",
        num_shards=0,
        shard_name_template=None,
        compression_type=compression_type(config.compression),
    )


def working_dir(config: BuildConfig) -> str:
    """Where a build writes until it commits; equal builds share it, so that one can resume."""
    return storage.join(config.dataset_dir, f".building-{config.fingerprint[:16]}")


def receipt_path(config: BuildConfig, split: str, shard: int) -> str:
    """Where the receipt of a finished shard lies."""
    return storage.join(working_dir(config), "receipts", f"{split}-{shard:05d}.json")


def contents_digest(records: Iterable[Record], schema: Iterable[Feature], file: str) -> str:
    """Hex digest of all that decides a shard's bytes."""
    digest = hashlib.sha256(repr((file, *schema)).encode())
    for record in records:
        content, annotation = sharding.content_digest(record), sharding.annotation(record)
        line = f"{record.key!r} {record.source_id!r} {content} {annotation}\n"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def encode_record(record: Record, schema: tuple[Feature, ...], options: ImageOptions) -> bytes:
    """The serialized Example of `record`, its files read anew.

    Raises:
        SourceChangedError: A file is not what Inspect saw.
        RecordError: The record's values do not fit the schema.
    """
    payloads = {}
    for name, value in record.features.items():
        if isinstance(value, Image):
            data = _read_again(record, value)
            payloads[name] = encode_image(data, value, options)
    return encode(example_values(record, schema, payloads))


def _read_again(record: Record, image: Image) -> bytes:
    try:
        data = storage.read_bytes(image.file)
    except RecordError as error:
        raise SourceChangedError(
            f"{image.file.path} was read at the inspection and now is a {error}; run the build "
            "again when nothing writes to its input"
        ) from error
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != image.file.sha256:
        raise SourceChangedError(
            f"{image.file.path} (record {record.key}) changed while the job ran: sha256 was "
            f"{image.file.sha256[:12]}… at the inspection and is {sha256[:12]}… now; run the "
            "build again when nothing writes to its input"
        )
    return data


def in_order(records: Iterable[Record], seed: int) -> list[Record]:
    """The records as they are written.

    Raises:
        BeamTFRecordsError: Two records have the same key.
    """
    ordered = sorted(records, key=lambda record: (sharding.position(record.key, seed), record.key))
    for one, other in itertools.pairwise(ordered):
        if one.key == other.key:
            raise BeamTFRecordsError(
                f"key {one.key!r} belongs to two records, {one.source or one.key} and "
                f"{other.source or other.key}; a source must give every record a key of its own"
            )
    return ordered


def _finished(receipt: str, contents: str) -> ShardInfo | None:
    """The shard that an earlier attempt finished, if it is the very same."""
    try:
        info = ShardInfo.from_json(storage.read_text(receipt))
    except (RecordError, ValueError, TypeError):
        return None
    same = info.contents == contents and all(map(storage.exists, info.temporary.values()))
    return info if same else None


def _path(record: Record) -> str:
    return next(
        (value.file.path for value in record.features.values() if isinstance(value, Image)), ""
    )


class _WriteShard(beam.DoFn):
    def __init__(self, config: BuildConfig, progress_dir: str):
        self._config = config
        self._progress_dir = progress_dir

    def setup(self) -> None:
        self._meter = Meter(self._progress_dir, "write")

    def process(self, keyed: tuple[str, Iterable[bytes]], plan: Plan) -> Iterator[ShardInfo]:
        split, _, number = keyed[0].rpartition("/")
        shard = int(number)
        elements = (element for batch in keyed[1] for element in unpack(batch))
        records = in_order(
            (each for each in elements if isinstance(each, Record)), self._config.seed
        )
        sink = split_sink(self._config, split)
        final = sink._get_final_name(shard, plan.splits[split].num_shards)
        file = final.rpartition("/")[2]
        contents = contents_digest(records, plan.schema, file)
        receipt = receipt_path(self._config, split, shard)
        if finished := _finished(receipt, contents):
            self._meter.add(finished.num_records)
            yield finished
            return
        info = self._write(sink, split, shard, file, contents, records, plan.schema)
        storage.write_bytes(receipt, info.to_json().encode())
        yield info

    def _write(
        self,
        sink: ShardSink,
        split: str,
        shard: int,
        file: str,
        contents: str,
        records: list[Record],
        schema: tuple[Feature, ...],
    ) -> ShardInfo:
        attempt = f"{shard:05d}-{uuid.uuid4().hex}"  # sorts by shard: the sink numbers by name
        folder = storage.join(working_dir(self._config), split)
        storage.make_dirs(folder)
        writer = sink.open_writer(folder, attempt)
        rows = index.Rows(schema)
        offset = 0
        threads = choose_threads(
            self._config.threads,
            _path(records[0]),
            sum(record.num_bytes for record in records) / len(records),
        )

        def encoded(record: Record) -> tuple[Record, bytes]:
            return record, encode_record(record, schema, self._config.image)

        for record, example in map_ordered(encoded, records, threads):
            writer.write(example)
            length = len(example) + _FRAME_BYTES
            rows.add(record, offset, length)
            offset += length
            self._meter.add(1)
        shard_path = writer.close()
        temporary = {file: str(shard_path)}
        for suffix, data in rows.files(compressed=self._config.compression != "none"):
            path = storage.join(working_dir(self._config), "index", f"{attempt}-{split}{suffix}")
            storage.write_bytes(path, data)
            temporary[f"index/{file}{suffix}"] = path
        return ShardInfo(
            split=split,
            shard=shard,
            file=file,
            num_records=len(records),
            num_bytes=offset,
            sha256=sink.hashing.sha256.hexdigest(),
            contents=contents,
            temporary=temporary,
        )

    def finish_bundle(self) -> None:
        self._meter.beat()
