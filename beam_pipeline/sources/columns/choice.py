"""Which column of a manifest plays which part, by its name, its values, and what a user says."""

import dataclasses
import difflib
from collections.abc import Collection, Iterable, Mapping

from beam_pipeline.errors import ConfigError
from beam_pipeline.kinds.boxes import FORMATS
from beam_pipeline.sources.columns.column import (
    ARRAY,
    AUDIO,
    BOXES,
    CAPTIONS,
    CORNERS,
    FILE,
    HEIGHT,
    IMAGE,
    LABELS,
    NUMBERS,
    RUN_LENGTHS,
    SPLIT,
    WIDTH,
    ColumnFacts,
    Columns,
    Media,
    TableOptions,
)


def pick_columns(names: Iterable[str], options: TableOptions, facts: ColumnFacts) -> Columns:
    """Finds the part of each column by its name and values, or takes the one of an option.

    Raises:
        ConfigError: An option's column or format is not there, or a column would take the place
            of a feature.
    """
    usable = usable_columns(names, options)
    plain = {lowered(name): name for name in usable if name not in facts.nested}
    media = _media(usable, plain, options, facts)
    paths = {each.column for each in media}
    free = {key: name for key, name in plain.items() if name not in paths}
    with_image = any(each.feature == "image" for each in media)
    columns = box_columns(usable, free, options, facts) if with_image else Columns()
    classes = _labels(usable, free, options, facts, with_boxes=bool(columns.boxes))
    if columns.corners:
        if len(classes) > 1:
            raise ConfigError(
                f"--label-column {options.label_column!r} names several columns, but a box, of "
                "which there is one a row, has one class; name its column"
            )
        columns = dataclasses.replace(columns, box_labels="".join(classes))
        classes = []
    columns = dataclasses.replace(
        columns,
        key=next((each.column for each in media if each.feature == each.kind), ""),
        media=media,
        labels=tuple((name if classes[1:] else "label", name) for name in classes),
        split=told("split", options, usable) or first(SPLIT, free),
        ignored=frozenset(options.ignore_columns),
    )
    columns = _with_captions(usable, free, columns, facts)
    _check_clashes(usable, columns)
    return columns


def _with_captions(
    usable: Iterable[str], free: Mapping[str, str], columns: Columns, facts: ColumnFacts
) -> Columns:
    """`columns` with the texts of images that have several rows, which differ in nothing else."""
    if columns.boxes or columns.corners or columns.key not in facts.repeated:
        return columns
    others = {lowered(name): name for name in usable if name not in columns.taken}
    texts = {
        key: name
        for key, name in free.items()
        if key in others and name not in facts.numbers and name not in facts.lists
    }
    name = first(CAPTIONS, texts)
    numbers = frozenset(each for key, each in others.items() if key in NUMBERS and each != name)
    if not name or numbers.union((name,)) != set(others.values()):
        return columns
    return dataclasses.replace(columns, captions=name, numbers=numbers)


def usable_columns(names: Iterable[str], options: TableOptions) -> list[str]:
    """The columns that have a name and are not ignored.

    Raises:
        ConfigError: The box format is unknown.
    """
    if options.box_format and options.box_format not in FORMATS:
        raise ConfigError(f"--box-format {options.box_format!r} is none of {', '.join(FORMATS)}")
    return [name for name in names if name and name not in options.ignore_columns]


def check_ignored(ignored: Iterable[str], names: Collection[str]) -> None:
    """Raises ConfigError where what a user leaves out is not there, lest a typo keep it."""
    for name in sorted(ignored):
        if name not in names:
            raise ConfigError(f"--ignore-columns {name!r} is not there; {there_are(name, names)}")


def lowered(name: str) -> str:
    """A column's name as the lists above have it."""
    return name.strip().lower()


def told(part: str, options: TableOptions, usable: Collection[str]) -> str:
    """The column that a user names for a part, such as "image"; "" where none is named.

    Raises:
        ConfigError: There is no such column.
    """
    return checked(part, getattr(options, f"{part}_column", ""), usable)


def checked(part: str, name: str, usable: Collection[str]) -> str:
    """The column that a user names for a part; raises ConfigError where it is not there."""
    if name and name not in usable:
        raise ConfigError(f"--{part}-column {name!r} is not a column; {there_are(name, usable)}")
    return name


def there_are(wanted: str, names: Collection[str]) -> str:
    """What an error says where `wanted` is not among `names`."""
    near = difflib.get_close_matches(wanted, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"there are {', '.join(map(repr, names)) or 'none'}{hint}"


def first(wanted: Iterable[str], names: Mapping[str, str]) -> str:
    """The first of the names `wanted` that is there, as it is written; else ""."""
    return next((names[name] for name in wanted if name in names), "")


def _media(
    usable: list[str], plain: Mapping[str, str], options: TableOptions, facts: ColumnFacts
) -> tuple[Media, ...]:
    """The columns of paths: the main image, audio and array first, if there are such."""
    audio = told("audio", options, usable) or first(AUDIO, _of_kind("audio", plain, facts))
    array = first(ARRAY, _of_kind("array", plain, facts))
    image = told("image", options, usable) or _image(
        plain, options, facts, alone=not audio and not array
    )
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


def _of_kind(kind: str, plain: Mapping[str, str], facts: ColumnFacts) -> dict[str, str]:
    return {key: name for key, name in plain.items() if facts.media.get(name) == kind}


def _image(
    plain: Mapping[str, str], options: TableOptions, facts: ColumnFacts, *, alone: bool
) -> str:
    """The column of images by its name; names as "path" need images' suffixes beside audio."""
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


def box_columns(
    usable: Iterable[str], free: Mapping[str, str], options: TableOptions, facts: ColumnFacts
) -> Columns:
    """The columns of boxes.

    Args:
        usable: All columns.
        free: Columns with neither lists nor paths, by their name in lower case.
        options: What a user says.
        facts: What the columns hold.

    Raises:
        ConfigError: A column of a CSV holds lists of boxes.
    """
    lists = {lowered(name): name for name in usable if name in facts.nested}
    in_texts = {lowered(name): name for name in usable if name in facts.lists}
    one = first(BOXES, {key: name for key, name in in_texts.items() if name in facts.fours})
    boxes = "" if one else first(BOXES, lists)
    corners: tuple[str, ...] | None = None
    stated_format = ""
    if one:
        corners, stated_format = (one,), "xyxy"
    elif not boxes:
        corners, stated_format = _corners(free)
    by_name = {name.replace("_", ""): free[name] for name in free}
    runs = "" if boxes or corners else first(RUN_LENGTHS, by_name)
    if runs:
        corners, stated_format = (runs,), "xywh"
    if not boxes and not corners and (name := first(BOXES, in_texts)):
        raise ConfigError(
            f"column {name!r} holds lists that are not four numbers: for several boxes in a row, "
            "write JSON Lines; else leave it out with --ignore-columns"
        )
    size = None
    if boxes or corners:
        beside = {key: name for key, name in free.items() if name not in (corners or ())}
        width, height = first(WIDTH, beside), first(HEIGHT, beside)
        size = (width, height) if width and height else None
    return Columns(
        size=size,
        corners=corners,
        has_runs=bool(runs),
        boxes=boxes,
        box_labels=first(LABELS.beside_boxes, lists) if boxes else "",
        box_format=stated_format if runs else options.box_format or stated_format,
    )


def _corners(names: Mapping[str, str]) -> tuple[tuple[str, ...] | None, str]:
    for (left, top, right, bottom), box_format in CORNERS:
        third = right.replace("2", "3")  # of a landmark or a quadrilateral
        if {left, top, right, bottom} <= names.keys() and (third == right or third not in names):
            return (names[left], names[top], names[right], names[bottom]), box_format
    return None, ""


def _labels(
    usable: list[str],
    free: Mapping[str, str],
    options: TableOptions,
    facts: ColumnFacts,
    *,
    with_boxes: bool,
) -> list[str]:
    """The columns of the record's classes."""
    if options.label_column:
        if options.label_column in usable:
            return [options.label_column]
        return [checked("label", name, usable) for name in options.labels]
    possible = {key: name for key, name in free.items() if name not in facts.no_classes}
    lists = set() if with_boxes else set(facts.lists).difference(facts.no_classes)
    name = first(LABELS.of_tables, possible) or first(
        LABELS.lists_of_record, {lowered(each): each for each in lists}
    )
    return [name] if name else []


def _check_clashes(usable: list[str], columns: Columns) -> None:
    """Raises ConfigError for a column whose name a feature from other columns has."""
    features = {media.feature: media.column for media in columns.media}
    features |= dict(columns.labels)
    if columns.boxes or columns.corners:
        features["boxes"] = columns.boxes or ", ".join(columns.corners or ())
    for name in usable:
        feature = next((each for each in features if f"{name}/".startswith(f"{each}/")), "")
        if feature and name not in columns.taken:
            raise ConfigError(
                f"the column {name!r} would take the place of the feature {feature!r}, which comes "
                f"from {features[feature]!r}: rename one, or leave it out with --ignore-columns"
            )
