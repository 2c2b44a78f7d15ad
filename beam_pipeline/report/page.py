"""`report.html` and `report.json` of a dataset."""

import dataclasses
import itertools
import json
import logging
import os
import random
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tfrecord_dataset
from beam_pipeline.dataset.opening import is_dataset
from beam_pipeline.describe.record_text import as_text
from beam_pipeline.describe.tfds import INFO_FILE
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.wording import brief
from beam_pipeline.report.checks import checks
from beam_pipeline.report.figures import LABELLED, figures, names
from beam_pipeline.report.pictures import gallery, side_by_side, sounds, with_rare
from beam_pipeline.report.rows import rows
from beam_pipeline.report.sampled_records import Sampled, first_records, sample
from beam_pipeline.write.directories import check_is_folder
from tfrecord_dataset.errors import NotADatasetError
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.metadata import VERSION, named_path
from tfrecord_dataset.page import rendered
from tfrecord_dataset.records.contents import Contents, Split
from tfrecord_dataset.shown_text import printable, shown

HTML, JSON = "report.html", "report.json"

_LOG = logging.getLogger(__name__)

# File names of TFRecords, whole or a shard.
_OF_TFRECORDS = re.compile(r"\.tf_?records?\b|\.record\b")
# Length limits of facts by name, except for pictures and sounds.
_USUAL_CHARACTERS = 300
_MOST_CHARACTERS = {"text": 20_000, "picture": None, "spectrogram": None} | {"player": None}
# Features of a very wide table that are described, other kinds than plain numbers first.
_MOST_FEATURES = 200
_TEXTS = 12
# Kinds with one short value, for which a row of a table shows a record.
_PLAIN = ("scalar", "text", "class_label")
_REJECTS = 200


def write_report(
    path: str | os.PathLike[str], output: str | os.PathLike[str] | None = None, *, seed: int = 0
) -> str:
    """Write `report.html` and `report.json` of a dataset, and return the path of the page.

        >>> beam_pipeline.write_report("data/cells")
        '/.../data/cells/1.0.0/report.html'

    Args:
        path: A dataset directory, local or on a store, or existing TFRecords: a file, glob or
            folder.
        output: Folder for both files; by default the dataset's directory.
        seed: Seed for the choice of records.

    Raises:
        ConfigError: No dataset, or no folder for the report.
        DatasetDamagedError: A record of the report is damaged.
    """
    path = named_path(path)
    dataset = _with_few_features(_opened(path))
    is_folder = storage.is_directory(path)
    folder = os.fspath(output or "") or (dataset.path if is_dataset(dataset.path) else path)
    if output is None and not is_folder:
        raise ConfigError(f"{path} is not a dataset directory; choose a folder with --output DIR")
    check_is_folder(folder)
    records = sample(dataset, seed=seed)
    random.Random(seed).shuffle(records)
    facts = facts_of(dataset, records)
    return _write(folder, facts if folder == dataset.path else {**facts, "folder": ""})


def _opened(path: str) -> Contents:
    """Open the dataset at a path, or TFRecord files without metadata.json."""
    try:
        return tfrecord_dataset.open(path)
    except NotADatasetError:
        names = storage.list_folder(path).files if storage.is_directory(path) else ()
        files = [storage.join(path, name) for name in names if _OF_TFRECORDS.search(name)]
        if not files:
            raise
        return tfrecord_dataset.open(files)


def write_page_of_build(directory: str) -> None:
    """Write both files into a dataset that a build has committed, at little cost.

    Facts missing in statistics.json come from the first records. The files are not part of the
    dataset: a failure to write them is logged with a remedy, and does not fail the build.
    """
    try:
        dataset = _with_few_features(tfrecord_dataset.open(directory))
        records = first_records(dataset)
        _write(directory, facts_of(dataset, records))
    except Exception as error:  # including bugs of this page
        _LOG.warning(
            "the dataset is complete, but its %s could not be written: %s; run "
            "`beam-tfrecords report %s` to try again",
            HTML,
            printable(str(error)),
            shlex.quote(directory),
        )


def _with_few_features(dataset: Contents) -> Contents:
    """Leave out plain numbers beyond the most features, which a page of use can describe."""
    ordered = sorted(dataset.features.values(), key=lambda feature: feature.kind == "scalar")
    kept = {feature.name for feature in ordered[:_MOST_FEATURES]}
    features = {name: each for name, each in dataset.features.items() if name in kept}
    return dataclasses.replace(dataset, features=features)


def _write(folder: str, facts: Mapping[str, Any]) -> str:
    shown_facts = {name: value for name, value in facts.items() if name not in _PICTURED}
    texts = {JSON: json.dumps(shown_facts, indent=1), HTML: html(facts)}
    for name, text in texts.items():
        storage.write_bytes(storage.join(folder, name), text.encode(), durable=True)
    return storage.join(folder, HTML)


def html(facts: Mapping[str, Any]) -> str:
    """Render the page as one self-contained text."""
    shown_facts = {name: _cut(name, value) for name, value in facts.items()}
    return rendered(Path(__file__).with_name("templates"), "report.html.j2", shown_facts)


def _cut(name: str, value: Any) -> Any:
    """Prepare a fact for the page and cut long texts; `name` is the field's name."""
    most = _MOST_CHARACTERS.get(name, _USUAL_CHARACTERS)
    match value:
        case str():
            return value if most is None or len(value) <= most else f"{value[: most - 1]}…"
        case dict():
            return {_cut("", key): _cut(key, each) for key, each in value.items()}
        case list() | tuple():
            return [_cut(name, each) for each in value]
    return value


# Facts that are only on the page.
_PICTURED = frozenset({"gallery", "sounds", "texts_shown", "equal_shown", "near_shown"})


def facts_of(dataset: Contents, records: Sequence[Sampled]) -> dict[str, Any]:
    """Collect all facts of the page as JSON values, with untrusted names escaped."""
    metadata = dataset.facts
    known = rows(dataset, records)
    charts = figures(dataset, records, known)
    features = list(dataset.features.values())
    more_records = with_rare(dataset, known, records)
    first_split = "train" if "train" in dataset.splits else next(iter(dataset.splits))
    folder, shards = _pattern(dataset.splits[first_split])
    name, version = metadata.get("name", ""), metadata.get("version", "")
    if not metadata:
        above, _, name = folder.rpartition("/")
        if VERSION.fullmatch(name):
            name, version = above.rpartition("/")[2], name
        name = shown(name)
    path = "/".join(filter(None, ("DATA_DIR", name, version)))
    total = sum(split["records"] for split in charts["splits"])
    duplicates = (metadata.get("duplicates") or {}).get("examples", [])
    near = (metadata.get("near_duplicates") or {}).get("examples", [])
    equal_shown, near_shown = side_by_side(dataset, duplicates, near)
    return {
        "name": name,
        "version": version,
        "folder": path if metadata else "",
        "path": path if metadata else f"{path}/{shards}",
        "shards": f"{path}/{shards}",
        "first_split": first_split,
        "compressed": bool(dataset.splits[first_split].compression),
        "for_tfds": bool(metadata) and storage.exists(storage.join(dataset.path, INFO_FILE)),
        "records": total,
        "bytes": sum(split["bytes"] or 0 for split in charts["splits"]),
        "fingerprint": dataset.fingerprint,
        "checks": [check._asdict() for check in checks(metadata, charts)],
        "figures": charts,
        "rejected": metadata.get("rejected", {}),
        "rejects": list(_first_rejects(dataset.path)),
        "duplicates": duplicates,
        "equal_shown": equal_shown,
        "near_duplicates": near,
        "near_shown": near_shown,
        "features": len(metadata.get("features", features)),
        "schema": [_described(feature, records) for feature in features],
        "gallery": list(gallery(features, charts, more_records)),
        "sounds": list(sounds(features, charts, more_records)),
        "texts_shown": list(_first_records(features, records)),
    }


def _first_rejects(path: str) -> Iterator[dict[str, str]]:
    try:
        text = storage.read_start(storage.join(path, "rejects.jsonl"), 1 << 20)
    except (RecordError, OSError):
        return
    for line in text.decode(errors="replace").splitlines()[:_REJECTS]:
        try:
            row = json.loads(line)
        except ValueError:
            return  # cut off
        if isinstance(row, dict):
            yield {name: shown(str(row.get(name, ""))) for name in ("source", "reason", "detail")}


def _pattern(split: Split) -> tuple[str, str]:
    """Return the folder of a split's shards, and a glob of their names."""
    folder = split.files[0].rpartition("/")[0]
    names = [file.removeprefix(f"{folder}/") for file in split.files]
    letters = itertools.takewhile(lambda each: len(set(each)) == 1, zip(*names, strict=False))
    same = "".join(letter[0] for letter in letters)
    return folder, same if len(names) == 1 else f"{same}*"


def _first_records(
    features: Sequence[Feature], records: Sequence[Sampled]
) -> Iterator[dict[str, Any]]:
    """Show the first records: as text, and as values if all features are plain."""
    are_plain = all(feature.kind in _PLAIN for feature in features)
    for record in _of_each_split(records, _TEXTS):
        values = [_value(each, record) for each in features] if are_plain else []
        text = as_text(record.example, features)
        yield {"where": f"{record.split} {record.number}", "text": text, "values": values}


def _value(feature: Feature, record: Sampled) -> str:
    if feature.kind in LABELLED:
        return shown(", ".join(names(feature, record)))
    return _short(record.values.get(feature.name, ""))


def _of_each_split(records: Sequence[Sampled], most: int) -> Iterator[Sampled]:
    """Take equally many of each split, up to a few more than `most` in all."""
    splits = sorted({record.split for record in records})
    for split in splits:
        of_split = (record for record in records if record.split == split)
        yield from itertools.islice(of_split, -(-most // len(splits)))


def _described(feature: Feature, records: Sequence[Sampled]) -> dict[str, Any]:
    """Describe a feature of the schema with a value of the sample."""
    values = (record.values.get(feature.name) for record in records)
    value = next((each for each in values if each is not None), b"")
    text = f"{len(value):,} bytes" if feature.kind in ("image", "audio", "map") else _short(value)
    return {
        "name": feature.name,
        "kind": feature.kind,
        "dtype": feature.dtype,
        "shape": list(feature.shape),
        "key": feature.key,
        "example": text,
    }


def _short(value: Any) -> str:
    text = value[:400].decode(errors="replace") if isinstance(value, bytes) else str(value)
    return brief(shown(" ".join(text.split())))
