"""Verify: everything that a dataset says of itself is held against what is there."""

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow.parquet

from beam_pipeline.dataset.opening import DatasetInfo
from beam_pipeline.dataset.reading import Frame, read_frames
from beam_pipeline.describe import class_names, tfds
from beam_pipeline.describe.shard_info import ShardEntry
from beam_pipeline.errors import DatasetDamagedError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.audio import AudioOptions, inspect_audio
from beam_pipeline.records import FileRef, Stored
from beam_pipeline.running.parallel import map_threads
from beam_pipeline.schema.feature import Feature
from beam_pipeline.schema.stored_conformance import Lists, misfits, size_problem
from beam_pipeline.tfrecord.example import lists


def verify(info: DatasetInfo) -> list[str]:
    """What is wrong with the dataset, a line each; an empty list when all is well.

    Checked: every shard's presence, sha256, number of records and bytes; both checksums of
    every record; that it is an Example with all keys of the schema, of its kinds, lengths and
    ranges; that every image has the sha256 that its record states, every sound the sample
    rate, samples and channels; that both indices have the records and their offsets; the sums
    of metadata.json, and what dataset_info.json, features.json and the files of class names
    repeat of it.
    """
    shards = [(info, split, shard) for split, entries in info.splits.items() for shard in entries]
    problems = map_threads(lambda each: list(_verify_shard(*each)), shards, os.cpu_count() or 1)
    found = [problem for per_shard in problems for problem in per_shard]
    of_all = (_verify_sums, _verify_dataset_info, _verify_features, _verify_class_names)
    return found + [problem for check in of_all for problem in check(info)]


def _verify_sums(info: DatasetInfo) -> Iterator[str]:
    for split, entries in info.splits.items():
        for count in ("num_records", "num_bytes"):
            stated = info.metadata["splits"][split][count]
            if stated != (total := sum(getattr(shard, count) for shard in entries)):
                yield f"metadata.json: split {split} states {stated} {count}, its shards {total}"


def _verify_dataset_info(info: DatasetInfo) -> Iterator[str]:
    if info.compressed:  # TFDS cannot read it, so there is none
        return
    name = "dataset_info.json"
    adopted = info.metadata["config"].get("adopted")
    if adopted and not storage.exists(storage.join(info.directory, name)):
        return  # it could not state the shards' names
    counts = {
        # TFDS itself counts other bytes.
        split: ([shard.num_records for shard in shards], 0 if adopted else _num_bytes(shards))
        for split, shards in info.splits.items()
    }

    def stated(text: str) -> Any:
        return {
            split["name"]: (
                list(map(int, split["shardLengths"])),
                0 if adopted else int(split["numBytes"]),
            )
            for split in json.loads(text)["splits"]
        }

    yield from _compare(info, name, stated, counts, "its splits are not those of metadata.json")


def _verify_features(info: DatasetInfo) -> Iterator[str]:
    if info.compressed or info.metadata["config"].get("adopted"):  # TFDS's own may be kept
        return
    keys = {key for feature in info.features for key in tfds.leaves(feature)}

    def stated(text: str) -> Any:
        return set(json.loads(text)["featuresDict"]["features"])

    problem = "its keys are not those of metadata.json's features"
    yield from _compare(info, "features.json", stated, keys, problem)


def _verify_class_names(info: DatasetInfo) -> Iterator[str]:
    if info.metadata["config"].get("adopted"):
        return
    for name, text in class_names.texts(info.features).items():
        yield from _compare(info, name, str, text, "its classes are not those of metadata.json")


def _compare(
    info: DatasetInfo, name: str, stated: Callable[[str], Any], expected: Any, problem: str
) -> Iterator[str]:
    """Tells `problem` where what the text of a file states is not what is `expected`."""
    try:
        found = stated(storage.read_text(storage.join(info.directory, name)))
    except RecordError as error:
        yield f"{name}: {error.reason}"
    except (ValueError, KeyError, TypeError) as error:
        yield f"{name}: cannot be understood: {error!r}"
    else:
        if found != expected:
            yield f"{name}: {problem}"


def _num_bytes(shards: Iterable[ShardEntry]) -> int:
    return sum(shard.num_bytes for shard in shards)


def _verify_shard(info: DatasetInfo, split: str, shard: ShardEntry) -> Iterator[str]:
    path = storage.join(info.directory, shard.file)
    try:
        sha256 = storage.sha256_of(path)
    except RecordError as error:
        yield f"{shard.file}: {error.reason}"
        return
    if sha256 != shard.sha256:
        yield f"{shard.file}: sha256 is {sha256}, metadata.json states {shard.sha256}"
    spans = []
    keys = _keys(info.features)
    try:
        for number, frame in enumerate(read_frames(path, info.compressed)):
            spans.append((frame.offset, frame.length))
            for problem in _verify_record(frame, keys, info.features):
                yield f"{shard.file}: record {number}, at byte {frame.offset}: {problem}"
    except DatasetDamagedError as error:
        yield str(error).replace(path, shard.file)
        return
    num_bytes = sum(length for _, length in spans)
    if (len(spans), num_bytes) != (shard.num_records, shard.num_bytes):
        yield (
            f"{shard.file}: holds {len(spans)} records of {num_bytes} bytes, metadata.json states "
            f"{shard.num_records} of {shard.num_bytes}"
        )
    yield from _verify_index(info, shard, spans)
    if not info.compressed:
        yield from _verify_offsets(info, shard, spans)


def _keys(features: tuple[Feature, ...]) -> frozenset[str]:
    """The keys that every Example of ours has: those that TFDS is told of."""
    ours = (feature for feature in features if not feature.bare)
    return frozenset(key for feature in ours for key in tfds.leaves(feature))


def _verify_record(
    frame: Frame, keys: frozenset[str], features: Iterable[Feature]
) -> Iterator[str]:
    try:
        found = lists(frame.payload)
    except ValueError as error:
        yield str(error)
        return
    if missing := sorted(keys - set(found)):
        yield f"the Example lacks {', '.join(missing)}"
        return
    if problems := list(misfits(features, found)):
        yield from problems
        return
    for key, (_, values) in found.items():
        if key.endswith("/key/sha256") and values:
            _, payload = found.get(f"{key.removesuffix('/key/sha256')}/encoded", ("", [b""]))
            yield from _verify_image(key, values[0], payload[0])
    for feature in features:
        if feature.kind == "audio" and not feature.bare:
            yield from _verify_sound(feature, found)


def _verify_image(key: str, stated: Any, payload: Any) -> Iterator[str]:
    sha256 = hashlib.sha256(payload).hexdigest()
    if sha256 != stated.decode():
        yield f"the image's sha256 is {sha256}, {key} states {stated.decode()}"


def _verify_sound(feature: Feature, found: Lists) -> Iterator[str]:
    key = feature.key
    try:
        facts = inspect_audio(found[key][1][0], AudioOptions())
    except RecordError as error:
        yield f"key {key!r}: {error}"
        return
    prefix = key.removesuffix("/encoded")
    stated_format = bytes(found[f"{prefix}/format"][1][0]).decode(errors="replace")
    if stated_format != facts.format:
        yield f"the sound's format is {facts.format}, {prefix}/format states {stated_format}"
    for name in ("sample_rate", "num_samples", "channels"):
        fact, stated = getattr(facts, name), found[f"{prefix}/{name}"][1][0]
        if stated != fact:
            yield f"the sound's {name} is {fact}, {prefix}/{name} states {stated}"
    shape = (facts.num_samples, facts.channels)
    stored = Stored(kind="bytes", length=1, shape=shape, sample_rate=facts.sample_rate)
    if problem := size_problem(feature, stored):
        yield problem


def _verify_index(
    info: DatasetInfo, shard: ShardEntry, spans: list[tuple[int, int]]
) -> Iterator[str]:
    name = f"index/{shard.file}.parquet"
    try:
        data = storage.read_bytes(FileRef(path=storage.join(info.directory, name)))
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
        yield f"{name}: its offsets are not those of the shard's records"


def _verify_offsets(
    info: DatasetInfo, shard: ShardEntry, spans: list[tuple[int, int]]
) -> Iterator[str]:
    lines = "".join(f"{offset} {length}\n" for offset, length in spans)
    problem = "its offsets are not those of the shard's records"
    yield from _compare(info, f"index/{shard.file}.idx", str, lines, problem)
