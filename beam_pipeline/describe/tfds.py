"""Files that let TFDS read the directory: `builder_from_directory`, `tfds.load`.

Checked against TFDS 4.9: an unknown field in dataset_info.json is a ParseError, so other facts
go into metadata.json; features.json is required; every key it names must be in every record; gzip
is not supported.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from beam_pipeline import kinds
from beam_pipeline.errors import ConfigError, DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.tfds_features import PACKAGE
from tfrecord_dataset.delimited import bare_lines
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import SIDES, list_specs
from tfrecord_dataset.format.metadata import ShardEntry

# All fields that this project writes; TFDS adds the location of its code and its citation.
_BUILD_FIELDS = frozenset({"name", "version", "fileFormat", "splits", "supervisedKeys"})

INFO_FILE, FEATURES_FILE = "dataset_info.json", "features.json"

# TFDS and this project name shards like this.
TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"

# TFDS counts classes from 0 and detection's label maps from 1: index 0 gets this name.
PLACEHOLDER_CLASS = "background"
_NUMBERS = {"{SHARD_X_OF_Y}": "{0:05d}-of-{1:05d}", "{SHARD_INDEX}": "{0:05d}"}


def template_of(files: Sequence[str]) -> str:
    """Return the `filepathTemplate` of a split's shard names in order, or "".

    TFDS counts shards from 0 with five digits (core/naming.py, ShardedFileTemplate).
    """
    count = len(files)
    if any(set("{}%") & set(file) for file in files):
        return ""
    for variable, number in _NUMBERS.items():
        numbers = [number.format(shard, count) for shard in range(count)]
        templates = {
            file.replace(each, variable) if file.count(each) == 1 else ""
            for file, each in zip(files, numbers, strict=True)
        }
        if len(templates) == 1 and variable in min(templates):
            return templates.pop()
    return files[0] if count == 1 else ""


def texts(
    name: str,
    version: str,
    schema: Sequence[Feature],
    shards: Mapping[str, Sequence[ShardEntry]],
    *,
    templates: Mapping[str, str] | None = None,
    reads_shards: bool = True,
) -> dict[str, str]:
    """Render all files for TFDS; only the class names if it cannot read the shards."""
    texts = class_names(schema)
    if reads_shards:
        texts[INFO_FILE] = dataset_info(name, version, schema, shards, templates)
        texts[FEATURES_FILE] = features(schema)
    return texts


def dataset_info(
    name: str,
    version: str,
    schema: Sequence[Feature],
    shards: Mapping[str, Sequence[ShardEntry]],
    templates: Mapping[str, str] | None = None,
) -> str:
    """Render dataset_info.json; `templates` of shard names by split replace TEMPLATE."""
    templates = templates or {}
    supervised = supervised_keys(schema)
    return _text(
        {
            "name": name,
            "version": version,
            "fileFormat": "tfrecord",
            **({"supervisedKeys": {"tuple": {"items": supervised}}} if supervised else {}),
            "splits": [
                {
                    "name": split,
                    "shardLengths": [str(shard.num_records) for shard in infos],
                    "numBytes": str(sum(shard.num_bytes for shard in infos)),
                    "filepathTemplate": templates.get(split, TEMPLATE),
                }
                for split, infos in shards.items()
            ],
        }
    )


def supervised_keys(schema: Sequence[Feature]) -> list[dict[str, Any]]:
    """Return the supervised keys for `as_supervised=True`: input and target.

    The input is the image, else the audio, else the text; the target the label, else the only
    class label, else the boxes (a dict of their lists), else the only map. Empty if one is
    missing.
    """
    inputs = [
        feature for kind in ("image", "audio", "text") for feature in schema if feature.kind == kind
    ]
    labels = [feature for feature in schema if feature.kind == "class_label"]
    named = [each for each in labels if each.name == "label"]
    boxes = [feature for feature in schema if feature.kind == "boxes" and not feature.encoding]
    if inputs and (label := named or (labels if len(labels) == 1 else [])):
        return [{"featureKey": inputs[0].key}, {"featureKey": label[0].key}]
    if inputs and boxes:
        keys = {side: boxes[0].subkey(f"bbox/{side}") for side in SIDES}
        if boxes[0].classes:
            keys["label"] = boxes[0].subkey("class/label")
        target = {name: {"featureKey": key} for name, key in keys.items()}
        return [{"featureKey": inputs[0].key}, {"dict": {"dict": target}}]
    maps = [feature for feature in schema if feature.kind == "map"]
    if inputs and len(maps) == 1:
        return [{"featureKey": inputs[0].key}, {"featureKey": maps[0].key}]
    return []


def features(schema: Iterable[Feature]) -> str:
    """Render features.json: a FeaturesDict with one flat key per key of the Example."""
    all_leaves = {key: leaf for feature in schema for key, leaf in leaves(feature).items()}
    return _text(
        {
            "pythonClassName": f"{PACKAGE}.features_dict.FeaturesDict",
            "featuresDict": {"features": dict(sorted(all_leaves.items()))},
        }
    )


def leaves(feature: Feature) -> dict[str, Any]:
    """Return TFDS's description of every key of `feature`."""
    kind = kinds.named(feature)
    return {key: kind.tfds(feature, key, spec) for key, spec in list_specs(feature).items()}


def check_keys(schema: Iterable[Feature]) -> None:
    """Raise ConfigError if two features would use the same key of the Example."""
    owner: dict[str, str] = {}
    for feature in schema:
        for key in leaves(feature):
            other = owner.setdefault(key, feature.name)
            if other != feature.name:
                raise ConfigError(
                    f"the features {other!r} and {feature.name!r} are both stored as {key!r}; "
                    "rename one of them in the schema"
                )


def class_names(schema: Iterable[Feature]) -> dict[str, str]:
    """Render the class name files, by file name."""
    files = {}
    for feature in schema:
        if feature.classes:
            key = kinds.named(feature).class_key(feature)
            placeholder = PLACEHOLDER_CLASS
            while placeholder in feature.classes:  # TFDS refuses duplicate names
                placeholder = f"_{placeholder}"
            names = [placeholder] * feature.label_offset + list(feature.classes)
            files[f"{key.replace('/', '.')}.labels.txt"] = "".join(f"{name}\n" for name in names)
    return files


def _text(value: object) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TfdsInfo:
    """TFDS's description of a directory, with the number of records of each shard by split."""

    name: str
    version: str
    shard_lengths: Mapping[str, list[int]]

    @classmethod
    def read(cls, directory: str) -> Self | None:
        """Read TFDS's files in `directory`; None if they are missing or by this project."""
        path = storage.join(directory, INFO_FILE)
        if not storage.exists(path):
            return None
        try:
            info = json.loads(storage.read_text(path))
            if set(info) <= _BUILD_FIELDS:
                return None
            return cls(
                name=info["name"],
                version=info.get("version", ""),
                shard_lengths={
                    split["name"]: [int(each) for each in split.get("shardLengths", ())]
                    for split in info["splits"]
                },
            )
        except (RecordError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} is invalid: {error!r}; fix it, or move it away") from error

    def check(self, shards: Mapping[str, Sequence[ShardEntry]]) -> None:
        """Raise DataError if TFDS's shard lengths are not those of the actual shards, by split."""
        actual = {split: [info.num_records for info in infos] for split, infos in shards.items()}
        stated = {split: lengths for split, lengths in self.shard_lengths.items() if lengths}
        if stated != actual:
            raise DataError(
                f"{INFO_FILE} states the shard lengths {stated}, but there are {actual}; "
                "fetch the missing files, or move it away with features.json"
            )


def read_class_names(directory: str, keys: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return TFDS's class names by key of the Examples, if any."""
    names = {}
    present = set(storage.list_dir(directory))
    for key in keys:
        for file in (f"{key.replace('/', separator)}.labels.txt" for separator in ".-"):
            if file in present:
                lines = bare_lines(storage.read_text(storage.join(directory, file)))
                names[key] = tuple(line.strip() for line in lines if line.strip())
    return names
