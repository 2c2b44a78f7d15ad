"""One shard and its index, compared with what the dataset states of them.

No Beam here: worker processes import this module.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow.parquet

from beam_pipeline.dataset.reading import Frame, read_frames
from beam_pipeline.dataset.stated_values import compare_file
from beam_pipeline.describe import index, tfds
from beam_pipeline.describe.shard_info import ShardEntry
from beam_pipeline.errors import DatasetDamagedError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.audio import AudioOptions, inspect_audio
from beam_pipeline.records import FileRef, ListSummary
from beam_pipeline.running.progress import Meter
from beam_pipeline.schema.feature import Feature
from beam_pipeline.schema.stored_conformance import Lists, mismatches, size_problem
from beam_pipeline.tfrecord.example import lists

_WRONG_OFFSETS = "its offsets are not those of the shard's records"


def shard_problems(
    shard: ShardEntry,
    directory: str,
    features: tuple[Feature, ...],
    compressed: bool,
    format_version: int,
    progress_dir: str,
) -> list[str]:
    """What is wrong with a shard, its records or its index, a line each.

    Args:
        shard: As metadata.json lists it.
        directory: The dataset's.
        features: The schema.
        compressed: Whether it is a gzip file.
        format_version: The dataset's.
        progress_dir: Where the progress is counted; empty for nowhere.
    """
    meter = Meter(progress_dir, "verify")
    problems = list(_problems(shard, directory, features, compressed, format_version, meter))
    meter.beat()
    return problems


def _problems(
    shard: ShardEntry,
    directory: str,
    features: tuple[Feature, ...],
    compressed: bool,
    format_version: int,
    meter: Meter,
) -> Iterator[str]:
    path = storage.join(directory, shard.file)
    try:
        sha256 = storage.sha256_of(path)
    except RecordError as error:
        yield f"{shard.file}: {error.reason}"
        return
    if sha256 != shard.sha256:
        yield f"{shard.file}: sha256 is {sha256}, metadata.json states {shard.sha256}"
    spans = []
    keys = _keys(features)
    try:
        for number, frame in enumerate(read_frames(path, compressed)):
            spans.append((frame.offset, frame.length))
            for problem in _record_problems(frame, keys, features):
                yield f"{shard.file}: record {number}, at byte {frame.offset}: {problem}"
            meter.add(1)
    except DatasetDamagedError as error:
        yield str(error).replace(path, shard.file)
        return
    num_bytes = sum(length for _, length in spans)
    if (len(spans), num_bytes) != (shard.num_records, shard.num_bytes):
        yield (
            f"{shard.file}: holds {len(spans)} records of {num_bytes} bytes, metadata.json states "
            f"{shard.num_records} of {shard.num_bytes}"
        )
    yield from _index_problems(directory, index.rows_file(shard.file), spans)
    if not compressed:
        lines = "".join(f"{offset} {length}\n" for offset, length in spans)
        name = index.spans_file(shard.file, format_version)
        yield from compare_file(directory, name, str, lines, _WRONG_OFFSETS)


def _keys(features: tuple[Feature, ...]) -> frozenset[str]:
    """The keys that every Example written by this project has: those in features.json."""
    written = (feature for feature in features if not feature.bare)
    return frozenset(key for feature in written for key in tfds.leaves(feature))


def _record_problems(
    frame: Frame, keys: frozenset[str], features: Iterable[Feature]
) -> Iterator[str]:
    try:
        example = lists(frame.payload)
    except ValueError as error:
        yield str(error)
        return
    if missing := sorted(keys - set(example)):
        yield f"the Example lacks {', '.join(missing)}"
        return
    if problems := list(mismatches(features, example)):
        yield from problems
        return
    for key, (_, values) in example.items():
        if key.endswith("/key/sha256") and values:
            _, payload = example.get(f"{key.removesuffix('/key/sha256')}/encoded", ("", [b""]))
            yield from _image_problems(key, values[0], payload[0])
    for feature in features:
        if feature.kind == "audio" and not feature.bare:
            yield from _audio_problems(feature, example)


def _image_problems(key: str, stated: Any, payload: Any) -> Iterator[str]:
    sha256 = hashlib.sha256(payload).hexdigest()
    if sha256 != stated.decode():
        yield f"the image's sha256 is {sha256}, {key} states {stated.decode()}"


def _audio_problems(feature: Feature, example: Lists) -> Iterator[str]:
    key = feature.key
    try:
        facts = inspect_audio(example[key][1][0], AudioOptions())
    except RecordError as error:
        yield f"key {key!r}: {error}"
        return
    prefix = key.removesuffix("/encoded")
    stated_format = bytes(example[f"{prefix}/format"][1][0]).decode(errors="replace")
    if stated_format != facts.format:
        yield f"the audio's format is {facts.format}, {prefix}/format states {stated_format}"
    for name in ("sample_rate", "num_samples", "channels"):
        fact, stated = getattr(facts, name), example[f"{prefix}/{name}"][1][0]
        if stated != fact:
            yield f"the audio's {name} is {fact}, {prefix}/{name} states {stated}"
    shape = (facts.num_samples, facts.channels)
    stored = ListSummary(kind="bytes", length=1, shape=shape, sample_rate=facts.sample_rate)
    if problem := size_problem(feature, stored):
        yield problem


def _index_problems(directory: str, name: str, spans: list[tuple[int, int]]) -> Iterator[str]:
    try:
        data = storage.read_bytes(FileRef(path=storage.join(directory, name)))
        # Not `read_table`: its thread pool, still busy at the exit, aborts one process in sixty.
        file = pyarrow.parquet.ParquetFile(io.BytesIO(data))
        table = file.read(columns=["offset", "length"], use_threads=False)
    except RecordError as error:
        yield f"{name}: {error.reason}"
        return
    except (pyarrow.ArrowException, OSError) as error:
        yield f"{name}: cannot be read: {error}"
        return
    columns = (table.column(column).to_pylist() for column in ("offset", "length"))
    if list(zip(*columns, strict=True)) != spans:
        yield f"{name}: {_WRONG_OFFSETS}"
