"""Decide which column is image, label, box, split or feature: a pure function of a sample.

Options come first, then usual names of columns, then what the first rows hold.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from beam_pipeline.errors import ConfigError
from beam_pipeline.kinds.boxes import FORMATS
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.sources.tables.box_columns import BoxColumns, box_columns, box_format_of
from beam_pipeline.sources.tables.label_columns import (
    NO_SEPARATOR,
    class_columns,
    is_amount,
    is_id,
    label_of_some,
    only_column,
    possible_labels,
    separator_of,
)
from beam_pipeline.sources.tables.labels import OF_COLUMNS
from beam_pipeline.sources.tables.names import (
    ARRAY,
    AUDIO,
    CAPTIONS,
    CORNERS,
    FILE,
    IMAGE,
    LABELS,
    NUMBERS,
    SPLIT,
    attribute_name,
    checked,
    first,
    lowered,
    there_are,
)
from beam_pipeline.sources.tables.options import NO_LABEL, TableOptions
from beam_pipeline.sources.tables.sample import ColumnFacts, Sample
from tfrecord_dataset.format.feature import Feature

# The features that find their column by the usual names; every other has one of its own name.
_USUAL = {
    ("image", "image"): IMAGE,
    ("audio", "audio"): AUDIO,
    ("array", "tensor"): ARRAY,
    ("array", "sequence"): ARRAY,
    ("label", "class_label"): LABELS.lists_of_record,
}


class Media(NamedTuple):
    """A column of paths.

    Attributes:
        feature: The name of the file's content in the record.
        column: The column's name.
        kind: "image", "audio" or "array".
    """

    feature: str
    column: str
    kind: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The role of each column; empty where no column has it.

    Attributes:
        key: The paths that name the records; "" if they go by their line.
        media: Columns of paths.
        labels: (feature, column) of the record's classes.
        separator: What is between the classes of a record in the text of its label; "" if a text
            is one class.
        classes: The user's names of classes, for labels that are their numbers.
        unlabelled: Tables, by their relative path, whose records may lack classes.
        split: The split.
        split_folders: Whether folders with splits' names state it.
        boxes: Columns of boxes and of the image's size.
        captions: A text of the image, which has several rows.
        numbers: Columns that number these rows, and are not kept.
        nested: Other columns of JSON that mostly hold lists in the first rows.
        plain: Columns of JSON that mostly hold numbers or text there.
        declared: (feature, column), if a user declared what is read; the rest is left out.
        ignored: Columns, and members of boxes, to leave out.
        missing_number: What stands for a number that is missing; None if nothing does.
        optional: A number to predict, which is NaN in the tables that lack its column.
        doubtful: The column of classes, if it may be a number to predict instead.
        taken: Columns that are not features of their own name.
    """

    key: str = ""
    media: tuple[Media, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    separator: str = ""
    classes: tuple[str, ...] = ()
    unlabelled: frozenset[str] = frozenset()
    split: str = ""
    split_folders: bool = False
    boxes: BoxColumns = dataclasses.field(default_factory=BoxColumns)
    captions: str = ""
    numbers: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()
    declared: tuple[tuple[Feature, str], ...] = ()
    ignored: frozenset[str] = frozenset()
    missing_number: float | None = None
    optional: str = ""
    doubtful: str = ""

    taken: frozenset[str] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        taken = self.ignored.union(
            (media.column for media in self.media),
            (column for _, column in self.labels),
            (column for _, column in self.declared),
            (self.split, self.captions),
            self.boxes.taken,
            self.numbers,
        )
        object.__setattr__(self, "taken", taken)

    @property
    def joins_rows(self) -> bool:
        """Whether the rows of an image make one record: a box or a caption each."""
        return bool(self.boxes.corners or self.captions)

    @property
    def has_target(self) -> bool:
        """Whether there is a label, boxes or captions."""
        return bool(self.label_columns or self.boxes.corners or self.boxes.lists or self.captions)

    @property
    def label(self) -> str:
        """The column of the one class of a record; "" if there is none, or several."""
        return self.labels[0][1] if len(self.labels) == 1 else ""

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns of the record's classes, found or declared."""
        declared = (name for feature, name in self.declared if feature.kind == "class_label")
        return (*(name for _, name in self.labels), *declared)


def roles_of(sample: Sample, options: TableOptions) -> Roles:
    """Decide the role of every column.

    Raises:
        ConfigError: An option or the schema names a column that does not exist, or a column would
            take the place of a feature, or all files of one are outside the input.
    """
    if options.box_format and options.box_format not in FORMATS:
        raise ConfigError(f"box_format {options.box_format!r} is none of {', '.join(FORMATS)}")
    usable = [name for name in sample.names if name and name not in options.ignore_columns]
    roles = (_declared if options.schema else _found)(sample, usable, options)
    sample.check_inside(each.column for each in roles.media)
    is_held = roles.key in sample.forms and bool(sample.forms[roles.key].media)
    if is_held and roles.boxes.corners:
        raise ConfigError(
            f"cannot group the boxes of {', '.join(roles.boxes.corners)} by image, since "
            f"{roles.key!r} holds the images: put the boxes of one into its row, or pass "
            f"--ignore-columns {','.join(roles.boxes.corners)}"
        )
    roles = dataclasses.replace(
        roles,
        key="" if is_held else roles.key,
        classes=tuple(options.classes),
        unlabelled=sample.unlabelled(roles.label_columns),
        missing_number=options.missing_number,
    )
    return _with_lists(roles, sample)


def _found(sample: Sample, usable: Sequence[str], options: TableOptions) -> Roles:
    """Decide roles by options, names and values."""
    facts = sample.facts
    plain = {lowered(name): name for name in usable if name not in facts.nested}
    media = _media(usable, plain, options, facts)
    paths = {each.column for each in media}
    free = {key: name for key, name in plain.items() if name not in paths}
    boxes = BoxColumns()
    if any(each.feature == "image" for each in media):
        boxes = box_columns(usable, free, options, facts)
    roles = Roles(
        key=next((each.column for each in media if each.feature == each.kind), ""),
        media=media,
        split=checked("split", options.split_column, usable) or _split(sample, free),
        boxes=boxes,
        ignored=frozenset(options.ignore_columns),
    )
    roles = _with_labels(roles, free, sample, usable, options)
    roles = _with_captions(roles, free, usable, facts)
    if not options.box_format and (stated := box_format_of(roles.boxes, sample)):
        roles = _with_boxes(roles, format=stated)
    if roles.boxes.corners and sample.found:  # ids of the images are no facts of boxes
        ids = {name for table in sample.tables for _, name in table.cells.template if name}
        roles = dataclasses.replace(roles, ignored=roles.ignored | ids)
    _check_clashes(usable, roles)
    return roles


def _split(sample: Sample, plain: Mapping[str, str]) -> str:
    """Return the column named like a split column; "" if there is none.

    Raises:
        ProblemError: It holds numbers, such as 0, 1 and 2.
    """
    column = first(SPLIT, plain)
    if column and sample.is_numeric(column):
        facts = {"column": column}
        raise ProblemError(
            Problem(code="numbered splits", facts=facts, option="split_column", choices=(column,))
        )
    return column


def _with_boxes(roles: Roles, **changes: object) -> Roles:
    return dataclasses.replace(roles, boxes=dataclasses.replace(roles.boxes, **changes))  # type: ignore[arg-type]


def _media(
    usable: Sequence[str], plain: Mapping[str, str], options: TableOptions, facts: ColumnFacts
) -> tuple[Media, ...]:
    """Return the columns of paths: the main image, audio and array first, if there are such."""

    def of_kind(kind: str) -> dict[str, str]:
        return {key: name for key, name in plain.items() if facts.media.get(name) == kind}

    audio = checked("audio", options.audio_column, usable) or first(AUDIO, of_kind("audio"))
    array = first(ARRAY, of_kind("array"))
    image = checked("image", options.image_column, usable)
    image = image or _image(plain, options, facts, alone=not audio and not array)
    if audio and audio == image:
        raise ConfigError(f"the column {audio!r} cannot hold images and audio; name another")
    main = {"image": image, "audio": audio, "array": array}
    others = [name for name in usable if name in facts.files and name not in main.values()]
    for kind in ("image", "audio"):
        alike = [name for name in others if facts.media[name] == kind]
        if not main[kind] and len(alike) == 1:
            main[kind] = alike[0]
            others.remove(alike[0])
    return (
        *(Media(kind, name, kind) for kind, name in main.items() if name),
        *(Media(name, name, facts.media[name]) for name in others),
    )


def _image(
    plain: Mapping[str, str], options: TableOptions, facts: ColumnFacts, *, alone: bool
) -> str:
    """Return the column of images by its name; beside audio, "path" needs images' suffixes."""
    possible = {
        key: name
        for key, name in plain.items()
        if facts.media.get(name, "image") == "image"
        and name != options.audio_column
        and not (key in FILE and name in facts.numbers)
        and name not in facts.absent
        and name not in facts.lists
    }
    sure = {key: name for key, name in possible.items() if name in facts.media or key not in FILE}
    return first(IMAGE, sure) or (first(IMAGE, possible) if alone else "")


def _with_labels(
    roles: Roles,
    free: Mapping[str, str],
    sample: Sample,
    usable: Sequence[str],
    options: TableOptions,
) -> Roles:
    """Decide the columns of the record's classes, or of the boxes'."""
    facts, optional = sample.facts, ""
    if options.label_column in usable:
        names = [options.label_column]
    elif options.label_column:
        names = [checked("label", name, usable) for name in options.labels]
    else:
        names, optional = _label_of(roles, free, sample, usable)
    if roles.boxes.corners:
        if len(names) > 1:
            raise ConfigError(
                f"--label-column {options.label_column!r} names several columns, but a box has one "
                "class; name its column"
            )
        return _with_boxes(roles, labels="".join(names))
    label = names[0] if len(names) == 1 else ""
    is_list = label in facts.lists or label in facts.nested
    if any(label and label == table.cells.label for table in sample.tables):
        separator = OF_COLUMNS
    elif options.label_separator:
        separator = "" if options.label_separator == NO_SEPARATOR else options.label_separator
    else:
        separator = "" if is_list else separator_of(label, sample.texts.get(label, ()))
    labels = tuple((name if names[1:] else "label", name) for name in names)
    return dataclasses.replace(roles, labels=labels, separator=separator, optional=optional)


def _label_of(
    roles: Roles, free: Mapping[str, str], sample: Sample, usable: Sequence[str]
) -> tuple[list[str], str]:
    """Return the column of classes by its name or values, and an optional number to predict."""
    facts, texts = sample.facts, sample.texts
    for table in sample.tables:
        if table.cells.label:
            return [table.cells.label], ""
    possible = {key: name for key, name in free.items() if name not in facts.no_classes}
    lists = set() if roles.boxes.lists else set(facts.lists).difference(facts.no_classes)
    name = first(LABELS.of_tables, possible) or first(
        LABELS.lists_of_record, {lowered(each): each for each in lists}
    )
    if name or roles.boxes.corners or roles.boxes.lists:
        return [name] if name else [], ""
    some = label_of_some(sample.headers)
    if some in usable and some not in roles.taken:
        if is_amount(some, facts, texts):
            return [], some
        if only_column([some], texts):
            return [some], ""
    others = _without_role(usable, roles, sample)
    only = only_column(others, texts) if roles.key and sample.found else ""
    return ([only], "") if only and not is_amount(only, facts, texts) else ([], "")


def columns_of_classes(sample: Sample, options: TableOptions) -> tuple[str, ...]:
    """Return the columns beside files of which each is a class that a row has or has not."""
    if options.schema or options.label_column or not sample.tables[0].header:
        return ()
    usable = [name for name in sample.names if name and name not in options.ignore_columns]
    roles = _found(sample, usable, options)
    if not roles.key or roles.label_columns or roles.boxes.corners or roles.boxes.lists:
        return ()
    names = _without_role(sample.names, roles, sample)
    return class_columns([name for name in names if not is_id(name)], sample)


def open_label(roles: Roles, sample: Sample, options: TableOptions) -> Problem | None:
    """Return the open question which of several columns is the label of a file, if any."""
    is_decided = roles.has_target or roles.optional or options.schema or options.label_column
    if is_decided or not roles.media:
        return None
    names = possible_labels(_without_role(sample.names, roles, sample), sample)
    if len(names) < 2:
        return None
    return Problem(
        code="several labels",
        facts={"path": sample.tables[0].file.path},
        option="label_column",
        choices=(*names, NO_LABEL),
    )


def _without_role(names: Iterable[str], roles: Roles, sample: Sample) -> list[str]:
    """Return the columns that have no role, and of which no path is made."""
    made_of = {column for table in sample.tables for _, column in table.cells.template}
    return [name for name in names if name and name not in roles.taken | made_of]


def _with_captions(
    roles: Roles, free: Mapping[str, str], usable: Iterable[str], facts: ColumnFacts
) -> Roles:
    """Take the texts of images that have several rows, which differ in nothing else."""
    if roles.boxes.lists or roles.boxes.corners or roles.key not in facts.repeated:
        return roles
    others = {lowered(name): name for name in usable if name not in roles.taken}
    texts = {
        key: name
        for key, name in free.items()
        if key in others and name not in facts.numbers and name not in facts.lists
    }
    name = first(CAPTIONS, texts)
    numbers = frozenset(each for key, each in others.items() if key in NUMBERS and each != name)
    if not name or numbers.union((name,)) != set(others.values()):
        return roles
    return dataclasses.replace(roles, captions=name, numbers=numbers)


def _check_clashes(usable: Iterable[str], roles: Roles) -> None:
    """Raise ConfigError for a column whose name a feature from other columns has."""
    features = {media.feature: media.column for media in roles.media} | dict(roles.labels)
    if boxes := roles.boxes.lists or ", ".join(roles.boxes.corners):
        features["boxes"] = boxes
    for name in usable:
        feature = next((each for each in features if f"{name}/".startswith(f"{each}/")), "")
        if feature and name not in roles.taken:
            raise ConfigError(
                f"column {name!r} has the name of the feature {feature!r}, which comes from "
                f"{features[feature]!r}; rename one, or pass --ignore-columns {name}"
            )


def _with_lists(roles: Roles, sample: Sample) -> Roles:
    """Decide which columns of JSON hold lists, and which of these go with the list of boxes.

    Raises:
        ConfigError: Lists are beside the one box of each row.
    """
    facts, rows = sample.facts, sample.rows
    free = {name for row in rows for name in row.values} - roles.taken
    nested = free.intersection(facts.nested).difference(facts.objects)
    if nested and roles.boxes.corners:
        raise ConfigError(
            f"column {min(nested)!r} holds lists, but an attribute of one box is a number or text; "
            f"pass --ignore-columns {min(nested)}"
        )
    beside = roles.boxes.lists_beside(nested, rows)
    roles = dataclasses.replace(
        roles,
        nested=frozenset(nested - beside),
        plain=frozenset(free.intersection(facts.nonempty).difference(facts.nested)),
    )
    return _with_boxes(roles, beside=frozenset(beside)) if beside else roles


def _declared(sample: Sample, usable: Sequence[str], options: TableOptions) -> Roles:
    """Take the column of every declared feature; all others are left out.

    Raises:
        ConfigError: A feature has no column, or a given column does not exist.
    """
    schema, facts = options.schema, sample.facts
    # Made of the texts, by `tokenizer`.
    tokens = {f"{feature.name}/tokens" for feature in schema if feature.kind == "text"}
    declared = tuple(
        (feature, _column(feature, usable, options))
        for feature in schema
        if feature.kind != "boxes" and (feature.name not in tokens or feature.name in usable)
    )
    used = {column for _, column in declared}
    plain = {
        lowered(name): name for name in usable if name not in used and name not in facts.nested
    }
    boxes = [feature for feature in schema if feature.kind == "boxes"]
    roles = Roles(
        key=_declared_key(declared, facts),
        split=checked("split", options.split_column, usable) or _split(sample, plain),
        boxes=_declared_boxes(boxes, usable, plain, options, facts) if boxes else BoxColumns(),
        declared=declared,
    )
    attributes = {name for feature in boxes for name in feature.attributes}
    left_out = (
        name
        for name in usable
        if name not in roles.taken and attribute_name(name) not in attributes
    )
    return dataclasses.replace(roles, ignored=frozenset(left_out).union(options.ignore_columns))


def _column(feature: Feature, usable: Sequence[str], options: TableOptions) -> str:
    """Return the column that a user names for the feature, or of its name, or of a usual name."""
    usual = _USUAL.get((feature.name, feature.kind), ())
    stated = checked(feature.name, getattr(options, f"{feature.name}_column", ""), usable)
    if usual and stated:
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


def _declared_boxes(
    boxes: Sequence[Feature],
    usable: Sequence[str],
    plain: Mapping[str, str],
    options: TableOptions,
    facts: ColumnFacts,
) -> BoxColumns:
    columns = box_columns(usable, plain, options, facts)
    if boxes[1:] or boxes[0].name != "boxes":
        raise ConfigError(
            f"--schema declares the boxes {boxes[-1].name!r}; a table has one feature of boxes, "
            "named 'boxes'"
        )
    if not columns.lists and not columns.corners:
        raise ConfigError(
            f"--schema declares boxes, but there are no columns for them, such as "
            f"{', '.join(CORNERS[0][0])}; {there_are('boxes', usable)}"
        )
    if columns.corners:
        label = checked("label", options.label_column, usable) or first(LABELS.of_tables, plain)
        columns = dataclasses.replace(columns, labels=label)
    return columns


def _declared_key(declared: Sequence[tuple[Feature, str]], facts: ColumnFacts) -> str:
    """Return the column of the main image, audio or array, if it holds paths."""
    main = {
        feature.name: column
        for feature, column in declared
        if feature.name in (feature.kind, "array")
        and (feature.name != "array" or facts.media.get(column) == "array")
    }
    return next((main[name] for name in ("image", "audio", "array") if name in main), "")


def understood(roles: Roles, sample: Sample) -> Iterator[tuple[str, str]]:
    """Say the role of each column, a line a role."""
    for media in roles.media:
        yield media.feature, f"column {media.column!r}"
    for feature, column in roles.labels:
        several = f", several separated by {roles.separator!r}" if roles.separator.strip() else ""
        yield feature, f"column {column!r}{several}"
    has_others = any(name and name not in roles.taken for name in sample.names)
    if roles.key and has_others and not (roles.has_target or roles.optional or roles.declared):
        yield "label", "none; --label-column names it"
    if roles.optional:
        yield "number to predict", f"column {roles.optional!r}, nan in the tables without it"
    if columns := roles.boxes.lists or ", ".join(roles.boxes.corners):
        what = "masks as run lengths" if roles.boxes.has_runs else roles.boxes.format or "by names"
        yield "boxes", f"columns {columns} ({what})"
    if roles.captions:
        yield "captions", f"column {roles.captions!r}, several rows an image"
    if roles.split:
        yield "split", f"column {roles.split!r}"
    if features := _shown(name for name in sample.names if name and name not in roles.taken):
        yield "attributes of boxes" if roles.boxes.corners else "features", features
    if left := _shown(_left_out(roles, sample)):
        yield "left out", left


def _left_out(roles: Roles, sample: Sample) -> Collection[str]:
    nameless = {
        f"column {number}"
        for header in sample.headers.values()
        for number, name in enumerate(header, start=1)
        if not name
    }
    return sorted(roles.ignored.intersection(sample.names).union(nameless, roles.numbers))


def _shown(names: Iterable[str]) -> str:
    few = [*names]
    return ", ".join(few[:8]) + (f", … ({len(few):,})" if few[8:] else "")
