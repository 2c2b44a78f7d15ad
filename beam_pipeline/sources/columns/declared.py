"""Which column each feature of a user's schema comes from."""

import dataclasses
from collections.abc import Iterable, Sequence

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.columns.choice import (
    box_columns,
    first,
    lowered,
    there_are,
    told,
    usable_columns,
)
from beam_pipeline.sources.columns.column import (
    ARRAY,
    AUDIO,
    CORNERS,
    IMAGE,
    LABELS,
    SPLIT,
    ColumnFacts,
    Columns,
    TableOptions,
    attribute_name,
)
from tfrecord_dataset.feature import Feature

# The features that find their column by the usual names; every other has one of its own name.
_USUAL = {
    ("image", "image"): IMAGE,
    ("audio", "audio"): AUDIO,
    ("array", "tensor"): ARRAY,
    ("array", "sequence"): ARRAY,
    ("label", "class_label"): LABELS.lists_of_record,
}


def declare_columns(names: Iterable[str], options: TableOptions, facts: ColumnFacts) -> Columns:
    """The column of every declared feature; all others are left out.

    Raises:
        ConfigError: A feature has no column, or a given column is not there.
    """
    schema = options.schema
    usable = usable_columns(names, options)
    # Made of the texts, by --tokenizer.
    tokens = {f"{feature.name}/tokens" for feature in schema if feature.kind == "text"}
    declared = tuple(
        (feature, _column(feature, usable, options))
        for feature in schema
        if feature.kind != "boxes" and (feature.name not in tokens or feature.name in usable)
    )
    used = {column for _, column in declared}
    free = {lowered(name): name for name in usable if name not in used}
    plain = {key: name for key, name in free.items() if name not in facts.nested}
    boxes = [feature for feature in schema if feature.kind == "boxes"]
    columns = Columns()
    if boxes:
        columns = _box_columns(boxes, usable, plain, options, facts)
    columns = dataclasses.replace(
        columns,
        key=_key(declared, facts),
        split=told("split", options, usable) or first(SPLIT, plain),
        declared=declared,
    )
    attributes = {name for feature in boxes for name in feature.attributes}
    left_out = {
        name
        for name in usable
        if name not in columns.taken and attribute_name(name) not in attributes
    }
    return dataclasses.replace(columns, ignored=frozenset(left_out).union(options.ignore_columns))


def _column(feature: Feature, usable: Sequence[str], options: TableOptions) -> str:
    """The column that a user names for the feature, or of its name, or of a usual name."""
    usual = _USUAL.get((feature.name, feature.kind), ())
    if usual and (stated := told(feature.name, options, usable)):
        return stated
    if feature.name in usable:
        return feature.name
    others = {each.name for each in options.schema}
    column = first(usual, {lowered(name): name for name in usable if name not in others})
    if not column:
        raise ConfigError(
            f"--schema declares the feature {feature.name!r}, but there is no column for it; "
            f"{there_are(feature.name, usable)}"
        )
    return column


def _box_columns(
    boxes: Sequence[Feature],
    usable: Sequence[str],
    plain: dict[str, str],
    options: TableOptions,
    facts: ColumnFacts,
) -> Columns:
    columns = box_columns(usable, plain, options, facts)
    if boxes[1:] or boxes[0].name != "boxes":
        raise ConfigError(
            f"--schema declares the boxes {boxes[-1].name!r}; a manifest has only one "
            "feature of boxes, named 'boxes'"
        )
    if not columns.boxes and not columns.corners:
        raise ConfigError(
            f"--schema declares boxes, but there are no columns for them, such as "
            f"{', '.join(CORNERS[0][0])}; {there_are('boxes', usable)}"
        )
    if columns.corners:
        label = told("label", options, usable) or first(LABELS.of_tables, plain)
        columns = dataclasses.replace(columns, box_labels=label)
    return columns


def _key(declared: Sequence[tuple[Feature, str]], facts: ColumnFacts) -> str:
    """The column of the main image, audio or array, where it holds paths."""
    main = {
        feature.name: column
        for feature, column in declared
        if feature.name in (feature.kind, "array")
        and (feature.name != "array" or facts.media.get(column) == "array")
    }
    return next((main[name] for name in ("image", "audio", "array") if name in main), "")
