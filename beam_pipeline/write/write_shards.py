"""WriteShards: sort each shard's records, read them again, encode and write them.

`WriteShards` is Beam's WriteToTFRecord with another assignment to shards, which Beam draws at
random, and another time of encoding: a record is a reference until here, so that no payload crosses
a shuffle, and is framed where it is encoded. Beam's `FileBasedSink` opens, compresses and names
the files, by the methods that its documentation lets subclasses override.

Worker processes, if the job has some, encode chunks of a shard; the process with the sink feeds
them and hashes the file. It writes two shards at a time, so that the workers have chunks to encode
while one file is flushed to disk.

Shards are written to one working directory, named by the build's fingerprint; on a store, to
their final names in one step. A shard is finished when its receipt exists, and a restarted build
reuses finished shards.

A shard may hold all of a dataset's records, and its rows may exceed the memory. Positions are
hashes, so rows are partitioned by position into ranges on disk, and sorted range by range.
"""

import contextlib
import dataclasses
import functools
import itertools
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.io import WriteToTFRecord
from apache_beam.io.filebasedsink import FileBasedSink
from apache_beam.io.filesystem import CompressedFile, CompressionTypes

from beam_pipeline import tfrecord
from beam_pipeline.assign import columns
from beam_pipeline.assign.assign_shards import Keys, tables_by_key
from beam_pipeline.assign.dataset_plan import Plan
from beam_pipeline.assign.placement import Int64s
from beam_pipeline.batch import Examples, from_stream, most_bytes
from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import index
from beam_pipeline.describe.record_text import as_text, in_short
from beam_pipeline.describe.shard_info import ShardInfo, TemporaryFile
from beam_pipeline.files import storage
from beam_pipeline.files.hashed import HashedFile
from beam_pipeline.running.batches import in_global_window
from beam_pipeline.running.failures import errors_handed_over
from beam_pipeline.running.locked_folders import temporary_folder
from beam_pipeline.running.parallel import choose_parallelism, start_processes
from beam_pipeline.running.pickling import Constant
from beam_pipeline.running.progress import Meter
from beam_pipeline.running.runner import Job, counter
from beam_pipeline.running.spill import Repeatable, Spill, spilling
from beam_pipeline.running.worker_processes import Ahead
from beam_pipeline.write.claim import check_held, others_named
from beam_pipeline.write.directories import spill_folder, working_dir
from beam_pipeline.write.encoding import Chunk, EncodeChunk, EncodedChunk, Encoder
from beam_pipeline.write.receipts import Receipt, finished_part, write_receipt
from tfrecord_dataset.durable import naming_full_disk
from tfrecord_dataset.format.example import lists
from tfrecord_dataset.format.frames import payload_of

# Rows that are sorted at once; a sort takes several times as much.
_MAX_BYTES = 2 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class ShardRows:
    """The rows of a shard sorted by position, in tables that can be iterated repeatedly."""

    num_rows: int
    parts: Iterable[pa.Table]

    def chunks(self, max_bytes: int, max_records: int) -> Iterator[pa.Table]:
        """Yield the chunks of `columns.chunks`, however the parts are cut."""
        rest = columns.SCHEMA.empty_table()
        for part in self.parts:
            part = columns.concatenated([rest, part]) if rest.num_rows else part
            *whole, rest = columns.chunks(part, max_bytes, max_records)
            yield from whole
            rest = rest.take(np.arange(rest.num_rows))  # a slice would keep the whole part
            del part, whole
        if rest.num_rows:
            yield rest


@contextlib.contextmanager
def shard_rows(tables: Iterable[bytes], folder: str | None) -> Iterator[ShardRows]:
    """Sort the rows of a shard (`columns.to_bytes`); many are spilled in a file in `folder`."""
    few: list[pa.Table] = []
    num_rows = num_bytes = 0
    first, last = 2**64, 0
    for part in columns.parts(tables, 1):
        positions = columns.numbers(part, "position")
        first, last = min(first, int(positions.min())), max(last, int(positions.max()))
        num_rows += part.num_rows
        num_bytes += part.nbytes
        few.append(part)
        most = most_bytes(part.num_columns, _MAX_BYTES)
        if num_bytes >= most:
            few.clear()
    if few:
        ordered = columns.in_order(columns.concatenated(few))
        few.clear()
        yield ShardRows(num_rows, [ordered])
        return
    with spilling(folder) as spill:
        count = 1 + num_bytes // most
        ranges = _ranges(tables, spill, first, last, count, part.num_columns)
        parts = map(spill.all, filter(None, ranges))
        yield ShardRows(num_rows, Repeatable(functools.partial(_ordered, list(parts))))


def _ordered(parts: Iterable[Iterable[bytes]]) -> Iterator[pa.Table]:
    return (columns.in_order(columns.from_bytes(tables)) for tables in parts)


def _ranges(
    tables: Iterable[bytes], spill: Spill, first: int, last: int, count: int, num_columns: int
) -> list[list[bytes]]:
    """Partition rows into equally long ranges of positions; returns spilled tables by range."""
    length = np.uint64((last - first) // count + 1)

    def numbers_of(table: pa.Table) -> Int64s:
        after = columns.numbers(table, "position") - np.uint64(first)
        return (after // length).astype(np.int64)

    ranges: list[list[bytes]] = [[] for _ in range(count)]
    divided = tables_by_key(Keys(range(count), numbers_of), num_columns, spill)
    for number, rows in divided.all(tables, len):
        ranges[number].append(rows)
    return ranges


# Large enough for a message to a worker process, small enough for several in memory.
_CHUNK_BYTES = 1 << 20
_CHUNK_RECORDS = 256
# Encoded before worker processes have started.
RECORDS_WITHOUT_PROCESSES = 512
_SHARDS_AT_ONCE = 2
# Disks flush concurrent writes together: 1,000 small shards took 2 s, and 10 s by twos.
_RECEIPTS_AT_ONCE = 8


class WriteShards(WriteToTFRecord):
    """Write ("<split>/<shard>", table of records) and yield one ShardInfo per shard.

    `commit.Commit` makes them a dataset.
    """

    def __init__(self, config: BuildConfig, plan: beam.PCollection[Constant[Plan]], job: Job):
        super().__init__(storage.join(config.dataset_dir, config.name))
        self._config = config
        self._plan = plan
        self._job = job

    def expand(self, placed: beam.PCollection[tuple[str, bytes]]) -> beam.PCollection[ShardInfo]:
        return (
            placed
            | "GroupByShard" >> beam.GroupByKey()  # ("<split>/<shard>", tables)
            | "WriteShard"
            >> beam.ParDo(
                _WriteShard(self._config, self._job), plan=beam.pvalue.AsSingleton(self._plan)
            )
        )


class ShardSink(FileBasedSink):
    """Beam's sink for the shards of one split; each shard needs its own.

    `open_writer(folder, attempt)` opens a writer of a new file in `folder` whose name starts
    with `attempt`: `write(frames)` writes Examples that were framed where they were encoded (a
    third of Beam's time for single records), `close()` returns the path.

    Attributes:
        file: The file on disk, with its sha256 and size.
    """

    file: HashedFile

    def open(self, temp_path: str) -> Any:
        # Beam would compress above the hash, which must be that of the file on disk.
        self.file = HashedFile(open(temp_path, "wb"))  # noqa: SIM115
        if self.compression_type == CompressionTypes.UNCOMPRESSED:
            return self.file
        return CompressedFile(self.file, self.compression_type)

    def write_encoded_record(self, file_handle: Any, value: bytes) -> None:
        file_handle.write(value)

    def final_name(self, shard: int, num_shards: int) -> str:
        """Return a shard's file name in the dataset's directory."""
        number = self.shard_name_format % {"shard_num": shard, "num_shards": num_shards}
        path = f"{self.file_path_prefix.get()}{number}{self.file_name_suffix.get()}"
        return path.rpartition("/")[2]


def split_sink(config: BuildConfig, split: str) -> ShardSink:
    """Return a sink for a shard of a split."""
    is_gzip = config.compression == "gzip"
    return ShardSink(
        file_path_prefix=storage.join(config.dataset_dir, f"{config.name}-{split}.tfrecord"),
        coder=beam.coders.BytesCoder(),
        file_name_suffix=".gz" if is_gzip else "",
        num_shards=0,
        shard_name_template=None,
        compression_type=CompressionTypes.GZIP if is_gzip else CompressionTypes.UNCOMPRESSED,
    )


class _Shard(NamedTuple):
    """A shard to write, by its number in the split."""

    split: str
    number: int
    rows: ShardRows
    plan: Plan

    @property
    def first_number(self) -> int | None:
        """Number of the first record (`Plan.first_number`)."""
        return self.plan.first_number(self.split, self.number)


class _Written(NamedTuple):
    """A shard with written files, and its digest; empty if an earlier attempt left its receipt."""

    info: ShardInfo
    digest: str


class _WriteShard(beam.DoFn):
    def __init__(self, config: BuildConfig, job: Job):
        self._config = config
        self._job = job
        self._spill_folder = spill_folder(config) if job.is_here else None

    def setup(self) -> None:
        self._meter = Meter(self._job.progress_dir, "write", self._job.beat_s)
        self._num_shards = counter("shards written")
        self._num_records = counter("records written")
        self._num_bytes = counter("bytes written")
        self._shard_threads = ThreadPoolExecutor(_SHARDS_AT_ONCE)
        self._receipt_threads = ThreadPoolExecutor(_RECEIPTS_AT_ONCE)

    def start_bundle(self) -> None:
        self._encoder: Constant[Encoder] | None = None
        self._shards: Ahead[_Written] = Ahead(self._shard_threads, _SHARDS_AT_ONCE - 1)
        self._receipts: Ahead[ShardInfo] = Ahead(self._receipt_threads, _RECEIPTS_AT_ONCE - 1)

    def process(
        self, keyed: tuple[str, Iterable[bytes]], plan: Constant[Plan]
    ) -> Iterator[ShardInfo]:
        if self._encoder is None:
            encoder = Encoder(schema=plan.value.schema, rules=self._config.rules)
            self._encoder = Constant.of(encoder)
        split, _, number = keyed[0].rpartition("/")
        with contextlib.ExitStack() as until_written:
            tables = self._job.spill.all(keyed[1])
            rows = until_written.enter_context(shard_rows(tables, self._spill_folder))
            write = functools.partial(self._write_shard, until_written=until_written.pop_all())
        shard = _Shard(split, int(number), rows, plan.value)
        with errors_handed_over(self._job):
            yield from self._counted(self._finished(self._shards.call(write, shard)))

    def finish_bundle(self) -> Iterator[Any]:
        with errors_handed_over(self._job):
            finished = itertools.chain(self._finished(self._shards.rest()), self._receipts.rest())
            yield from map(in_global_window, self._counted(finished))
        self._meter.beat()

    def _finished(self, shards: Iterator[_Written]) -> Iterator[ShardInfo]:
        """Yield each shard once it has a receipt."""
        try:
            for shard in shards:
                yield from self._receipts.call(self._finish, shard)
        except BaseException:
            self._receipts.wait()
            raise

    def _finish(self, written: _Written) -> ShardInfo:
        info, digest = written
        if digest:
            receipt = Receipt(digest=digest, num_bytes=info.num_bytes, files=info.temporary)
            write_receipt(self._config, _part(info.split, info.shard), receipt)
        return info

    def _counted(self, shards: Iterator[ShardInfo]) -> Iterator[ShardInfo]:
        """Count the shards, in Beam's own thread."""
        for info in shards:
            self._num_shards.inc()
            self._num_records.inc(info.num_records)
            self._num_bytes.inc(info.num_bytes)
            yield info

    def teardown(self) -> None:
        for threads in (self._shard_threads, self._receipt_threads):
            threads.shutdown(wait=False)  # an interrupt would leave work in flight

    def _write_shard(self, shard: _Shard, until_written: contextlib.ExitStack) -> _Written:
        with until_written:
            return self._written(shard)

    def _written(self, shard: _Shard) -> _Written:
        split, number, rows, plan = shard
        sink = split_sink(self._config, split)
        file = sink.final_name(number, plan.splits[split].num_shards)
        files = [file, *index.files(file, self._config.compression != "none")]
        digest = columns.digest_of(rows.parts, file, plan.schema, shard.first_number)
        finished = finished_part(self._config, _part(split, number), digest, files)
        if finished:
            self._meter.add(rows.num_rows)
            num_records, num_bytes, places = rows.num_rows, finished.num_bytes, finished.files
        else:
            with naming_full_disk(self._config.output):
                num_records, num_bytes, written = self._write(sink, shard, files)
            places = dict(zip(files, written, strict=True))
        first = (next(iter(plan.splits)), 0)
        info = ShardInfo(
            split=split,
            shard=number,
            file=file,
            num_records=num_records,
            num_bytes=num_bytes,
            sha256=places[file].sha256,
            temporary=places,
            sample=self._sample(places[file].path, plan) if (split, number) == first else "",
        )
        return _Written(info, "" if finished else digest)

    def _sample(self, path: str, plan: Plan) -> str:
        """Return the first record of a written shard as text."""
        _, frame = next(tfrecord.read_file(path, self._config.compression != "none"))
        example = lists(payload_of(frame))
        values = {key: example[key][1] for key in sorted(example)}
        return as_text(values, plan.schema, in_short)

    def _write(
        self, sink: ShardSink, shard: _Shard, files: Sequence[str]
    ) -> tuple[int, int, list[TemporaryFile]]:
        """Count a shard's records and bytes, and list its files and its index's."""
        if not storage.is_remote(self._config.dataset_dir):
            return self._write_below(working_dir(self._config), sink, shard, files)
        with temporary_folder() as folder:
            num_records, num_bytes, local = self._write_below(folder, sink, shard, files)
            check_held(self._config, self._job.claim)
            with others_named(self._config):
                written = list(map(self._put, local, files))
        return num_records, num_bytes, written

    def _put(self, file: TemporaryFile, final: str) -> TemporaryFile:
        """Upload a file to its final name on a store."""
        url = storage.join(self._config.dataset_dir, final)
        return dataclasses.replace(file, path=url, version=storage.put_new(file.path, url))

    def _write_below(
        self, root: str, sink: ShardSink, shard: _Shard, files: Sequence[str]
    ) -> tuple[int, int, list[TemporaryFile]]:
        """Do the same as `_write`, in new files below a local folder."""
        # The sink derives the name from the number; names sort by shard.
        attempt = f"{shard.number:05d}-{uuid.uuid4().hex}"
        folder = storage.join(root, shard.split)
        storage.make_dirs(folder)
        prefix = storage.join(root, "index", f"{attempt}-{shard.split}")
        paths = [f"{prefix}{os.path.splitext(file)[1]}" for file in files[1:]]
        with index.writing(shard.plan.schema, paths) as index_writer:
            writer = sink.open_writer(folder, attempt)
            try:
                for chunk in self._encoded(shard):
                    writer.write(bytes(chunk.frames))
                    lengths = np.frombuffer(chunk.lengths, "<i8")
                    index_writer.add(from_stream(chunk.rows), lengths)
                    self._meter.add(len(lengths))
            finally:
                shard_path = writer.close()
        written = [TemporaryFile.of(str(shard_path), sink.file), *index_writer.files]
        return index_writer.num_records, index_writer.num_bytes, written

    def _encoded(self, shard: _Shard) -> Iterator[EncodedChunk]:
        """Yield the encoded rows of a shard in order."""
        assert self._encoder is not None
        part = next(iter(shard.rows.parts))
        first = Examples.with_files(part.slice(0, 1))
        parallelism = choose_parallelism([first], self._config.threads, self._job.processes)
        encode = EncodeChunk(self._encoder, parallelism.threads, self._job.kept)
        max_bytes = most_bytes(part.num_columns, _CHUNK_BYTES)
        del part
        chunks = _chunks(shard.rows, max_bytes, shard.first_number)
        if parallelism.processes and shard.rows.num_rows > RECORDS_WITHOUT_PROCESSES:
            return start_processes(parallelism.processes).ahead().map(encode, chunks)
        return map(encode.here, chunks)


def _part(split: str, shard: int) -> str:
    """Return the name of a shard's receipt."""
    return f"{split}-{shard:05d}"


def _chunks(rows: ShardRows, max_bytes: int, first_number: int | None) -> Iterator[Chunk]:
    for chunk in rows.chunks(max_bytes, _CHUNK_RECORDS):
        yield Chunk(columns.to_bytes(chunk, compressed=False), first_number)
        if first_number is not None:
            first_number += chunk.num_rows
