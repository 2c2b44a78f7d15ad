"""`report.html` and `report.json` of a dataset."""

import collections
import json
import random
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

import tfrecord_dataset
from beam_pipeline.cli.report import pictures
from beam_pipeline.cli.report.checks import checks
from beam_pipeline.cli.report.figures import figures, names
from beam_pipeline.cli.report.sample import Sampled, of_classes, sample
from beam_pipeline.cli.show import as_text
from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.opening import is_dataset, open_dataset
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from tfrecord_dataset.contents import Contents
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.options import fields_of, parts_of
from tfrecord_dataset.shown_text import shown, size_text

HTML, JSON = "report.html", "report.json"

_PICTURES = 120
# Of each class: as many as make up so many pictures.
_AT_LEAST = 48
_EACH_CLASS = 6
_RARE_CLASSES = 20
_SOUNDS = 8
_TEXTS = 12
_REJECTS = 200


def write_report(path: str, output: str | None = None, *, seed: int = 0) -> str:
    """Writes `report.html` and `report.json` of a dataset, and returns the path of the page.

    Args:
        path: A dataset, local or on a store, also one that others wrote: a directory, or a file,
            glob or folder of TFRecord files.
        output: The folder of both files; by default the dataset's directory.
        seed: Decides which records are shown.

    Raises:
        ConfigError: There is no dataset, or no folder for the report.
        DatasetDamagedError: A record that is shown is damaged.
    """
    dataset = tfrecord_dataset.open(path)
    folder = output or dataset.path
    if output is None and not storage.is_directory(folder):
        raise ConfigError(f"{path} is no directory of a dataset: say where by --output DIR")
    facts = facts_of(dataset, seed)
    shown_facts = {name: value for name, value in facts.items() if name not in _PICTURED}
    storage.write_bytes(storage.join(folder, JSON), json.dumps(shown_facts, indent=1).encode())
    page = storage.join(folder, HTML)
    storage.write_bytes(page, html(facts).encode())
    return page


def html(facts: Mapping[str, Any]) -> str:
    """The page: one text, with all that it needs in it."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["bytes"] = size_text
    return environment.get_template("report.html.j2").render(facts)


# What only the page has.
_PICTURED = frozenset({"gallery", "sounds", "texts_shown"})


def facts_of(dataset: Contents, seed: int = 0) -> dict[str, Any]:
    """All that the page shows, as JSON has it; names of others without what acts."""
    metadata = open_dataset(dataset.path).metadata if is_dataset(dataset.path) else {}
    records = sample(dataset, seed=seed)
    random.Random(seed).shuffle(records)
    found = figures(dataset, records)
    features = list(dataset.features.values())
    config, version = metadata.get("config", {}), metadata.get("version", "")
    name = metadata.get("name", "") or shown(dataset.path.rstrip("/").rpartition("/")[2])
    total = sum(split["records"] for split in found["splits"])
    return {
        "name": name,
        "version": version,
        "path": "/".join(filter(None, ("DATA_DIR", name, version))),
        "records": total,
        "bytes": sum(split["bytes"] or 0 for split in found["splits"]),
        "fingerprint": dataset.fingerprint,
        "command": _command(metadata) if config else "",
        "checks": [each._asdict() for each in checks(metadata, found)],
        "figures": found,
        "rejected": metadata.get("rejected", {}),
        "rejects": _rejects(dataset.path),
        "duplicates": (metadata.get("duplicates") or {}).get("examples", []),
        "schema": [_described(feature, records) for feature in features],
        "gallery": list(_gallery(dataset, features, found, records)),
        "sounds": list(_sounds(features, records)),
        "texts_shown": [
            {"where": f"{each.split} {each.number}", "text": as_text(each.example, features)}
            for each in records[:_TEXTS]
        ],
    }


def _gallery(
    dataset: Contents,
    features: Sequence[Feature],
    found: Mapping[str, Any],
    records: Sequence[Sampled],
) -> Iterator[dict[str, Any]]:
    """Pictures: rare classes and images without objects first, some of each class."""
    if not any(feature.kind == "image" for feature in features):
        return
    totals: dict[str, int] = {}  # of a name in several features the least
    for row in (row for each in found["classes"] for row in each["rows"]):
        totals[row["name"]] = min(row["total"], totals.get(row["name"], row["total"]))
    labelled = [each for each in features if each.kind in ("class_label", "boxes")]
    rare = [row["name"] for each in found["classes"] for row in each["rows"] if row["total"]]
    extra = of_classes(dataset, dataset.path, rare[::-1][:_RARE_CLASSES], each=2)
    each_class = max(_EACH_CLASS, _AT_LEAST // max(1, len(rare)))
    seen: collections.Counter[str] = collections.Counter()
    chosen: dict[tuple[str, int], tuple[int, Sampled, list[str]]] = {}
    for record in [*extra, *records]:
        classes = [name for each in labelled for name in dict.fromkeys(names(each, record))]
        least = min((seen[name] for name in classes), default=seen[""])
        if least < each_class and (record.split, record.number) not in chosen:
            seen.update(classes or [""])
            rank = min((totals.get(name, 0) for name in classes), default=0)
            chosen[record.split, record.number] = (rank, record, classes)
    for _, record, classes in sorted(chosen.values(), key=lambda each: each[0])[:_PICTURES]:
        (source,) = record.example.get("image/filename", [])[:1] or [b""]
        try:
            picture = pictures.thumbnail(features, record)
        except RecordError:
            continue  # verify tells of it
        yield {
            "picture": picture,
            "split": record.split,
            "number": record.number,
            "classes": [shown(name) for name in classes],
            "source": shown(source.decode(errors="replace")),
            "text": as_text(record.example, features),
        }


def _sounds(features: Sequence[Feature], records: Sequence[Sampled]) -> Iterator[dict[str, Any]]:
    for feature in features:
        if feature.kind == "audio":
            for record in records[:: max(1, len(records) // _SOUNDS)][:_SOUNDS]:
                facts = pictures.audio(record.values[feature.name])
                text = as_text(record.example, features)
                yield {**facts, "split": record.split, "number": record.number, "text": text}


def _described(feature: Feature, records: Sequence[Sampled]) -> dict[str, Any]:
    """A feature of the schema with a value of the sample."""
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


def _short(value: Any, most: int = 80) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    text = shown(" ".join(text.split()))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _rejects(path: str) -> list[dict[str, str]]:
    """The first rejects."""
    try:
        text = storage.read_start(storage.join(path, "rejects.jsonl"), 1 << 20)
    except (RecordError, OSError):
        return []
    lines = text.decode(errors="replace").splitlines()[:_REJECTS]
    rows = []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            break  # cut off
        rows.append(
            {name: shown(str(row.get(name, ""))) for name in ("source", "reason", "detail")}
        )
    return rows


def _command(metadata: Mapping[str, Any]) -> str:
    """The command that builds the dataset, as far as its options are words.

    Where the input lies is in build.json alone: a report may be given to others.
    """
    config = metadata["config"]
    if config.get("adopted"):
        return "python -m beam_pipeline adopt DIRECTORY"
    default = BuildConfig().fingerprinted_options()
    words = ["INPUT", "--output", "DATA_DIR", *_words(BuildConfig, config, default)]
    for part, kind in parts_of(BuildConfig).items():
        words += _words(kind, config.get(part, {}), default[part])
    return "python -m beam_pipeline build " + " ".join(map(shlex.quote, words))


def _words(kind: type, stated: Mapping[str, Any], default: Mapping[str, Any]) -> Iterator[str]:
    """The options of a class that differ from their defaults, both as JSON has them."""
    for name, field in fields_of(kind).items():
        value = stated.get(name)
        if value == default.get(name) or value in (None, "", []):
            continue
        match value:
            case True:
                yield field.flag
            case str() | int() | float():
                yield from (field.flag, str(value))
            case dict():
                yield from (field.flag, ",".join(f"{key}={each:g}" for key, each in value.items()))
            case [str(), *_]:
                yield from (field.flag, ",".join(value))
            case [int(), *_]:  # width and height
                yield from (field.flag, "x".join(map(str, value)))
