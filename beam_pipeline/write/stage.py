"""WriteShards: each shard's records are sorted, read again, encoded and written by one worker.

Beam's own sink opens, frames, compresses and names the files. What is replaced is the
assignment to shards, which Beam draws at random, and the moment of encoding: until here a
record is a reference, so that no payload crosses a shuffle.

Everything is written below one working directory, whose name derives from the build's
fingerprint. A shard is finished once its receipt lies there; a build that is started again
takes finished shards as they are.
"""

import functools
import hashlib
import itertools
import uuid
from collections.abc import Iterable, Iterator, Sequence

import apache_beam as beam
from apache_beam.io import WriteToTFRecord

from beam_pipeline.assign import placement
from beam_pipeline.assign.census import Plan
from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import index
from beam_pipeline.describe.shard_info import ShardInfo, TemporaryFile
from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files import storage
from beam_pipeline.inspect.digest import annotation
from beam_pipeline.records import Record, pack, unpack
from beam_pipeline.running.parallel import ahead_in_processes, divide_labour
from beam_pipeline.running.progress import Meter
from beam_pipeline.running.runner import LocalJob
from beam_pipeline.schema.feature import Feature
from beam_pipeline.write.encoding import encode_records
from beam_pipeline.write.receipts import finished_shard, receipt_path
from beam_pipeline.write.sink import ShardSink, compression_type, split_sink
from beam_pipeline.write.working_directory import working_dir

# Framing around a record: length and two checksums (TFRecord's format).
_FRAME_BYTES = 16

_RECORDS_A_CHUNK = 128


class WriteShards(WriteToTFRecord):
    """("<split>/<shard>", packed batch of records) to one ShardInfo a shard.

    The shards lie in the working directory; `commit.Commit` moves them to their final names.
    """

    def __init__(self, config: BuildConfig, plan: beam.PCollection[Plan], local: LocalJob):
        super().__init__(
            file_path_prefix=storage.join(config.dataset_dir, config.name),
            compression_type=compression_type(config.compression),
        )
        self._config = config
        self._plan = plan
        self._local = local

    def expand(self, placed: beam.PCollection[tuple[str, bytes]]) -> beam.PCollection[ShardInfo]:
        return (
            placed
            | "GroupByShard" >> beam.GroupByKey()
            | "WriteShard"
            >> beam.ParDo(
                _WriteShard(self._config, self._local),
                plan=beam.pvalue.AsSingleton(self._plan),
            )
        )


def contents_digest(records: Iterable[Record], schema: Iterable[Feature], file: str) -> str:
    """Hex digest of all that decides a shard's bytes."""
    digest = hashlib.sha256(repr((file, *schema)).encode())
    for record in records:
        line = (
            f"{record.key!r} {record.source!r} {record.source_id!r} {record.content} "
            f"{annotation(record)}\n"
        )
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def in_order(records: Iterable[Record], seed: int) -> list[Record]:
    """The records as they are written.

    Raises:
        BeamTFRecordsError: Two records have the same key.
    """
    ordered = sorted(records, key=lambda record: (placement.position(record.key, seed), record.key))
    for one, other in itertools.pairwise(ordered):
        if one.key == other.key:
            raise BeamTFRecordsError(
                f"key {one.key!r} belongs to two records, {one.source or one.key} and "
                f"{other.source or other.key}; a source must give every record a key of its own"
            )
    return ordered


def chunks(records: Sequence[Record]) -> Iterator[list[Record]]:
    """The records in lists of a size that is worth a message to a worker process."""
    for start in range(0, len(records), _RECORDS_A_CHUNK):
        yield list(records[start : start + _RECORDS_A_CHUNK])


class _WriteShard(beam.DoFn):
    def __init__(self, config: BuildConfig, local: LocalJob):
        self._config = config
        self._local = local

    def setup(self) -> None:
        self._meter = Meter(self._local.progress_dir, "write")

    def process(self, keyed: tuple[str, Iterable[bytes]], plan: Plan) -> Iterator[ShardInfo]:
        split, _, number = keyed[0].rpartition("/")
        shard = int(number)
        elements = (element for batch in keyed[1] for element in unpack(batch))
        records = in_order(
            (each for each in elements if isinstance(each, Record)), self._config.seed
        )
        sink = split_sink(self._config, split)
        file = sink.final_name(shard, plan.splits[split].num_shards)
        contents = contents_digest(records, plan.schema, file)
        receipt = receipt_path(self._config, split, shard)
        if finished := finished_shard(receipt, contents):
            self._meter.add(finished.num_records)
            yield finished
            return
        info = self._write(sink, split, shard, file, contents, records, plan.schema)
        storage.write_bytes(receipt, info.to_receipt().encode())
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
        try:
            for record, example in self._encoded(records, schema):
                writer.write(example)
                length = len(example) + _FRAME_BYTES
                rows.add(record, offset, length)
                offset += length
                self._meter.add(1)
        finally:
            shard_path = writer.close()
        temporary = {file: TemporaryFile(str(shard_path), sink.file.num_bytes)}
        for suffix, data in rows.files(compressed=self._config.compression != "none"):
            path = storage.join(working_dir(self._config), "index", f"{attempt}-{split}{suffix}")
            storage.write_bytes(path, data)
            temporary[f"index/{file}{suffix}"] = TemporaryFile(path, len(data))
        return ShardInfo(
            split=split,
            shard=shard,
            file=file,
            num_records=len(records),
            num_bytes=offset,
            sha256=sink.file.sha256,
            contents_digest=contents,
            temporary=temporary,
        )

    def _encoded(
        self, records: list[Record], schema: tuple[Feature, ...]
    ) -> Iterator[tuple[Record, bytes]]:
        """(record, its serialized Example), in order."""
        labour = divide_labour(records, self._config.threads, self._local.processes)
        encode = functools.partial(
            encode_records,
            schema=schema,
            rules=self._config.rules,
            threads=labour.threads,
        )
        packed = map(pack, chunks(records))
        batches = (
            ahead_in_processes(labour.processes).map(encode, packed)
            if labour.processes
            else map(encode, packed)
        )
        yield from zip(records, itertools.chain.from_iterable(batches), strict=True)

    def finish_bundle(self) -> None:
        self._meter.beat()
