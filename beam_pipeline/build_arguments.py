"""Options that `build` and `plan` take as keywords, for editors and type checkers.

Made of `BuildConfig` by tests/generated_pages.py.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.images import ImageOptions
from tfrecord_dataset.format.feature import Feature


class BuildArguments(TypedDict, total=False):
    """The options of `build` and `plan`."""

    input: str
    output: str
    name: str
    version: str
    license: str
    layout: str
    split: Mapping[str, float]
    no_stratify: bool
    split_list: Sequence[str]
    group_by: str
    seed: int
    num_shards: int | Mapping[str, int] | None
    target_shard_bytes: int
    compression: str
    overwrite: bool
    no_report: bool
    duplicates: str
    near_duplicates: str
    leaks: str
    max_bad_fraction: float
    box_policy: str
    box_format: str
    points: str
    masks: bool
    classes: Sequence[str]
    image: ImageOptions
    audio: AudioOptions
    schema: tuple[Feature, ...]
    ignore: Sequence[str]
    one_class: bool
    path_pattern: str
    image_root: str
    allow_missing_shards: bool
    allow_outside: Sequence[str]
    image_column: str
    audio_column: str
    label_column: str
    label_separator: str
    split_column: str
    column_names: Sequence[str]
    no_header: bool
    header_rows: int
    encoding: str
    table: str
    ignore_columns: Sequence[str]
    missing_numbers: str | float
    missing_values: Sequence[str]
    decimal_comma: bool | Sequence[str]
    image_template: str
    threads: int
    max_record_seconds: float
