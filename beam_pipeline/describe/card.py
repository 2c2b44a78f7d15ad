"""README.md: the dataset's card for readers, and for Hugging Face's `datasets`."""

import json
from collections.abc import Iterator, Mapping, Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.kinds.wording import brief
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.metadata import ShardEntry
from tfrecord_dataset.shown_text import printable

FILE = "README.md"

_MOST_CLASSES = 20


def card(
    config: BuildConfig,
    shards: Mapping[str, Sequence[ShardEntry]],
    schema: Sequence[Feature],
    sample: str = "",
) -> str:
    """Render README.md: the splits, the features, a sample record, and how to load them.

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
