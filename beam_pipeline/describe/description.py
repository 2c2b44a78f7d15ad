"""The files that describe a dataset to people and to other tools, as texts by file name."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from google.protobuf.text_encoding import CEscape

from beam_pipeline import recipe
from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import tfds
from beam_pipeline.describe.shard_info import ShardInfo
from beam_pipeline.kinds.wording import brief
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import ListSpec, list_specs
from tfrecord_dataset.format.metadata import ShardEntry
from tfrecord_dataset.shown_text import printable

CARD_FILE, SCHEMA_FILE = "README.md", "schema.pbtxt"

_MOST_CLASSES = 20
# Types of a tensorflow_metadata Schema.
_TYPES = {"bytes": "BYTES", "float32": "FLOAT", "int64": "INT"}
# Spreadsheets take these for a formula, unless a number follows a sign.
_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.,]*$)")


def texts(
    config: BuildConfig, schema: Sequence[Feature], shards: Mapping[str, Sequence[ShardInfo]]
) -> dict[str, str]:
    """Render all files except metadata.json, build.json, statistics.json and rejects.jsonl."""
    sample = next((info.sample for infos in shards.values() for info in infos if info.sample), "")
    # TFDS cannot read gzip.
    can_read = config.compression == "none"
    for_tfds = tfds.texts(config.name, config.version, schema, shards, reads_shards=can_read)
    own = {CARD_FILE: card(config, shards, schema, sample), recipe.FILE: recipe.of_dataset(config)}
    return for_tfds | texts_of_schema(schema) | own


def texts_of_schema(schema: Sequence[Feature]) -> dict[str, str]:
    """Render the files that depend only on the features."""
    names = tfds.class_names(schema) | label_maps(schema)
    return names | {SCHEMA_FILE: schema_text(schema)}


def card(
    config: BuildConfig,
    shards: Mapping[str, Sequence[ShardEntry]],
    schema: Sequence[Feature],
    sample: str = "",
) -> str:
    """Render README.md, for readers and for Hugging Face's `datasets`.

    Its header names the shards as the data, since `datasets.load_dataset` would load the index, the
    only files in a format that it supports.
    """
    name, version, licence = config.name, config.version, config.license
    licensed = f"license: {json.dumps(licence, ensure_ascii=False)}\n" if licence else ""
    folder, first = f"DATA_DIR/{name}/{version}", json.dumps(next(iter(shards)))
    splits = "".join(
        f"| {split} | {sum(shard.num_records for shard in entries)} | {len(entries)} |\n"
        for split, entries in shards.items()
    )
    features = "".join(_row(feature) for feature in schema)
    stated = _code(licence) if licence else "not stated"
    return (
        f"---\n{licensed}configs:\n- config_name: default\n"
        f"  data_files: {name}-*.tfrecord-*\n---\n\n"
        f"# {name} {version}\n\n"
        "TFRecords made by beam-tfrecords. `metadata.json` describes them; `index/` has a row per\n"
        "record in Parquet, `rejects.jsonl` what was left out.\n\n"
        f"| split | records | shards |\n|---|---|---|\n{splits}\n"
        f"| feature | kind | type | shape |\n|---|---|---|---|\n{features}\n"
        f"{''.join(_classes(schema))}"
        f"{_sample(sample)}"
        f"License: {stated}.\n\n"
        "```python\nimport tfrecord_dataset\n\n"
        f'split = tfrecord_dataset.open("{folder}")[{first}]\n'
        "print(len(split), split[0])\n```\n\n"
        f'`trainer.open("{folder}")` trains on it; TensorFlow Datasets takes its folder by\n'
        "`tfds.builder_from_directory`, if it is not compressed.\n"
    )


def _row(feature: Feature) -> str:
    shape = " × ".join("any" if size is None else str(size) for size in feature.shape)
    return f"| {_code(feature.name)} | {feature.kind} | {feature.dtype} | {shape} |\n"


def _classes(schema: Sequence[Feature]) -> Iterator[str]:
    for feature in schema:
        if number := len(feature.classes):
            named = ", ".join(map(_code, feature.classes[:_MOST_CLASSES]))
            more = f" and {number - _MOST_CLASSES} more" if number > _MOST_CLASSES else ""
            yield f"Classes of {_code(feature.name)}, {number}: {named}{more}.\n\n"


def _sample(text: str) -> str:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return f"A record, as `beam-tfrecords show` prints it:\n\n{lines}\n" if lines else ""


def _code(text: str) -> str:
    """Format an untrusted name as inert Markdown code, also for tables."""
    return f"`{printable(brief(text), keeps='').replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def label_maps(schema: Sequence[Feature]) -> dict[str, str]:
    """Render label maps for the TF Object Detection API and Model Garden; none without boxes."""
    classes = next((feature.classes for feature in schema if feature.kind == "boxes"), ())
    if not classes:
        return {}
    return {"label_map.pbtxt": protobuf_text(classes), "label_map.csv": csv_text(classes)}


def protobuf_text(classes: Sequence[str]) -> str:
    """Render a StringIntLabelMap.

    Source: object_detection/protos/string_int_label_map.proto. Strings use the escapes of
    protobuf's text format, as some of its parsers do not support those of JSON.
    """
    items = (
        (number, CEscape(name.encode(), as_utf8=True)) for number, name in enumerate(classes, 1)
    )
    return "".join(f'item {{\n  id: {number}\n  name: "{name}"\n}}\n' for number, name in items)


def csv_text(classes: Sequence[str]) -> str:
    """Render rows `id,name`, without a header, which Model Garden would take for a class.

    An apostrophe escapes a class that a spreadsheet would run as a formula (`=1+1`).
    Source: official/vision/dataloaders/tf_example_label_map_decoder.py.
    """
    text = io.StringIO()
    names = (f"'{name}" if _FORMULA.match(name) else name for name in classes)
    csv.writer(text, lineterminator="\n").writerows(enumerate(names, 1))
    return text.getvalue()


def schema_text(schema: Iterable[Feature]) -> str:
    """Render schema.pbtxt: the Examples' keys as a tensorflow_metadata Schema, for TFX and Ray.

    Source: tensorflow_metadata/proto/v0/schema.proto. A fixed shape becomes a FixedLenFeature in
    TFX's tools, a count of values a VarLenFeature.
    """
    messages = {
        key: _feature(key, spec, feature)
        for feature in schema
        for key, spec in list_specs(feature).items()
    }
    return "".join(messages[key] for key in sorted(messages))


def _feature(key: str, spec: ListSpec, feature: Feature) -> str:
    lines = [f'name: "{CEscape(key.encode(), as_utf8=True)}"', f"type: {_TYPES[spec.kind]}"]
    lines += _shape(spec, feature)
    return "".join(["feature {\n", *(f"  {line}\n" for line in lines), "}\n"])


def _shape(spec: ListSpec, feature: Feature) -> Iterator[str]:
    if spec.length is None:
        yield "value_count { min: 0 }"
    elif spec.optional:
        yield f"value_count {{ min: 0 max: {spec.length} }}"
    else:
        yield "presence { min_fraction: 1 min_count: 1 }"
        is_list = feature.kind == "tensor" and feature.encoding != "bytes"
        sizes = feature.shape if is_list else ()
        yield f"shape {{ {''.join(f'dim {{ size: {size} }} ' for size in sizes)}}}"
