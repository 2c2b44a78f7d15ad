"""Choose the columns of each role: options first, then the rules of `RULES` in their order.

A rule looks for a usual name, or for the only column of its kind, and accepts a column by the
values of the first rows. The first rule of a role that finds a column decides; roles of rules below
it take from the columns that are left: docs/from/tables.md.
"""

import functools
import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from beam_pipeline.errors import ConfigError
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.sources.tables import usual_columns as known
from beam_pipeline.sources.tables.named_files import is_id
from beam_pipeline.sources.tables.roles import Media
from beam_pipeline.sources.tables.sample import ColumnSample, Sample
from beam_pipeline.sources.tables.types import OF_COLUMNS, mark_of
from beam_pipeline.sources.tables.usual_columns import TableOptions, checked, lowered
from tfrecord_dataset.format.split_names import is_split

_MAX_SPACES = 2  # in the name of a class, on average
_MANY_NUMBERS = 20
_LARGE_NUMBER = 1000  # too large for the number of a class
_NO_CLASSES = frozenset({
    *known.CAPTIONS, "transcript", "transcription", "partition", "fold", "width", "height",
})  # fmt: skip
# Classes only on request.
_ASIDE = frozenset({"age", "sex"})
# Minimum rows per class, on average.
_ROWS_OF_A_CLASS = 2
_FILES = ("image", "audio", "array")
_BOX_A_ROW = ("box", "corners", "run lengths")
_ALL_BOXES = (*_BOX_A_ROW, "boxes")
OF_BOXES = (*_ALL_BOXES, "size", "labels of boxes")


class Choice:
    """Columns of tables by role, found one rule after another.

    Attributes:
        sample: The first rows.
        usable: The columns, without those that options leave out.
        found: Columns by role; () for a role that an option leaves empty.
    """

    def __init__(self, sample: Sample, options: TableOptions) -> None:
        self.options = options
        self.found: dict[str, tuple[str, ...]] = {}
        self._sample(sample)

    def _sample(self, sample: Sample) -> None:
        self.sample = sample
        self.usable = [name for name in sample.names if name not in self.options.ignore_columns]
        self.by_name = {lowered(name): name for name in self.usable}

    def settle(self, *roles: str) -> None:
        """Find columns for some roles, or all; raise ConfigError for a missing one."""
        for rule in RULES:
            if roles and rule.role not in roles:
                continue
            if rule.role not in self.found and (stated := self._stated(rule.role)) is not None:
                self.found[rule.role] = stated
            has_any = [
                not self.found.keys().isdisjoint(each) for each in (rule.without, rule.needs)
            ]
            if rule.role in self.found or has_any != [False, bool(rule.needs)]:
                continue
            if columns := next(self._candidates(rule), ()):
                self.found[rule.role] = columns

    def _stated(self, role: str) -> tuple[str, ...] | None:
        """Return the columns that an option names for a role; None without the option."""
        name = getattr(self.options, f"{role}_column", "")
        if not name:
            return None
        names = self.options.labels if role == "label" and name not in self.usable else [name]
        return tuple(checked(role, each, self.usable) for each in names)

    def _candidates(self, rule: "Rule") -> Iterator[tuple[str, ...]]:
        if callable(rule.names):
            several = [rule.names(self)]
        else:
            keys = (names.split(",") for names in rule.names)
            there = (each for each in keys if self.by_name.keys() >= {*each})
            several = [[self.by_name[key] for key in each] for each in there]
        for columns in filter(None, several):
            if all(rule.accepts(self, name) for name in columns):
                yield tuple(columns)

    def one(self, role: str) -> str:
        """Return the column of a role; "" if it has none, or several."""
        columns = self.found.get(role, ())
        return columns[0] if len(columns) == 1 else ""

    def column(self, name: str) -> ColumnSample:
        """Return the sample of a column."""
        return self.sample.column(name)

    def is_free(self, name: str) -> bool:
        """Return whether a column is neither declared nor of files, and has no lists or objects."""
        roles = (*_FILES, "files", "declared")
        is_file = any(name in self.found.get(role, ()) for role in roles)
        return not is_file and not self.column(name).is_nested

    @property
    def taken(self) -> set[str]:
        """The columns that have a role."""
        return {*itertools.chain(*self.found.values())}

    @property
    def corners(self) -> tuple[str, ...]:
        """The columns of a box or mask per row; () if there are none."""
        return next(filter(None, map(self.found.get, _BOX_A_ROW)), ())

    @property
    def media(self) -> tuple[Media, ...]:
        """The columns of files, with main image, audio and array first."""
        return (
            *(Media(kind, name, kind) for kind in _FILES if (name := self.one(kind))),
            *(Media(name, name, self.column(name).media) for name in self.found.get("files", ())),
        )

    @property
    def key(self) -> str:
        """The column of the main image, audio or array; "" if there is none."""
        return next(filter(None, map(self.one, _FILES)), "")

    def check(self) -> None:
        """Raise ConfigError for columns that cannot have their roles, or not without an answer."""
        if (audio := self.one("audio")) and audio == self.one("image"):
            raise ConfigError(f"the column {audio!r} cannot hold images and audio; name another")
        name = self.one("split")
        if not self.options.split_column and self.column(name).is_numeric:
            facts, option = {"column": name}, "split_column"
            raise ProblemError(
                Problem(code="numbered splits", facts=facts, option=option, choices=(name,))
            )
        lists = (self.by_name.get(key, "") for key in known.BOXES if "image" in self.found)
        in_texts = next((name for name in lists if name and self.column(name).is_list), "")
        if in_texts and not any(self.found.get(role) for role in _ALL_BOXES):
            raise ConfigError(
                f"column {in_texts!r} holds lists that are not four numbers: write JSON Lines for "
                f"several boxes in a row, or pass --ignore-columns {shlex.quote(in_texts)}"
            )

    def join_classes(self) -> None:
        """Replace columns that mark a class each by the names of a row's classes, the label."""
        if classes := self.found.pop("classes", ()):
            self._sample(self.sample.with_cells(classes=classes))
            self.found["label"] = (self.sample.tables[0].cells.label,)

    @functools.cached_property
    def of_some(self) -> Collection[str]:
        """The only column that some tables, such as a test set, lack, unless it has a role."""
        headers = self.sample.headers
        counts = Counter(name for header in headers.values() for name in header if name)
        some = [name for name, count in counts.items() if count < len(headers)]
        is_free = len(some) == 1 and some[0] in self.usable and some[0] not in self.taken
        return some if is_free else ()


def _is_free(choice: Choice, name: str) -> bool:
    return choice.is_free(name)


def _is_file_of(kind: str) -> "Accepts":
    return lambda choice, name: choice.column(name).media == kind


def _names_images(choice: Choice, name: str) -> bool:
    """Return whether a column holds names of images, or has a name that only images have."""
    is_sure = bool(choice.column(name).media) or lowered(name) not in known.FILE
    return is_sure and _may_name_images(choice, name)


def _may_name_images(choice: Choice, name: str) -> bool:
    """Return whether a column may hold names of images, also without suffixes."""
    column = choice.column(name)
    if column.media not in ("", "image") or column.is_list or not _is_free(choice, name):
        return False
    is_absent = not column.media and not column.exists and column.values
    are_texts = all(isinstance(value, str) for value in column.values)
    return lowered(name) not in known.FILE or not (column.is_numeric or (is_absent and are_texts))


def _other_files(choice: Choice) -> Sequence[str]:
    """Return the columns of existing files, without the main ones."""
    main, columns = choice.taken, choice.sample.columns
    left = (name for name in choice.usable if name in columns and name not in main)
    return [name for name in left if columns[name].media and columns[name].exists]


def _only_file_of(kind: str) -> Callable[[Choice], Sequence[str]]:
    def names(choice: Choice) -> Sequence[str]:
        alike = [name for name in _other_files(choice) if choice.column(name).media == kind]
        return alike if len(alike) == 1 else ()

    return names


def _only_of_splits(choice: Choice) -> Sequence[str]:
    """Return the only column of names of splits, with train; () if the tables have splits."""
    if any(table.file.split for table in choice.sample.tables):
        return ()
    names = [
        name
        for name in choice.usable
        if (texts := choice.column(name).texts)
        and all(map(is_split, texts))
        and any(text.lower().startswith("train") for text in texts)
    ]
    return names if len(names) == 1 else ()


def _is_no_label(choice: Choice, name: str) -> bool:
    return lowered(name) not in known.LABELS.of_tables and name not in choice.options.labels


def _is_any(choice: Choice, name: str) -> bool:
    return True


def _is_corner(choice: Choice, name: str) -> bool:
    """Return whether a column is free, and no corner of a landmark or a quadrilateral."""
    key = lowered(name)
    third = choice.by_name.get(key.replace("x2", "x3"), name) if "x2" in key else name
    return _is_free(choice, name) and (third == name or not _is_free(choice, third))


def _is_size(choice: Choice, name: str) -> bool:
    return _is_free(choice, name) and name not in choice.found.get("corners", ())


def _may_be_label(choice: Choice, name: str) -> bool:
    return _is_free(choice, name) and not choice.column(name).are_no_classes


def _may_be_labels(choice: Choice, name: str) -> bool:
    column = choice.column(name)
    return column.is_list and not column.are_no_classes


def _marked(choice: Choice) -> Sequence[str]:
    """Return the columns next to files that mark one class each with 1, and 0 or -1.

    Tables may lack these columns.
    """
    sample = choice.sample
    left = without_role(choice.usable, choice.taken, sample)
    names = [name for name in left if sample.tables[0].header and not is_id(name)]
    marks = {
        mark_of(value)
        for rows in sample.rows
        if not rows.columns.keys().isdisjoint(names)
        for name in names
        for value in rows.column(name)
    }
    is_one = len(names) > 1 and "1" in marks and marks in ({"0", "1"}, {"-1", "1"})
    return names if is_one and not any(OF_COLUMNS in name for name in names) else ()


def _is_amount(choice: Choice, name: str) -> bool:
    """Return whether the first rows of a column are numbers to predict, not classes."""
    return choice.column(name).is_numeric and is_amount(choice.column(name))


def _may_be_only_label(choice: Choice, name: str) -> bool:
    is_usual = lowered(name) not in _ASIDE and not is_amount(choice.column(name))
    return is_usual and may_be_classes(name, choice.sample)


def _only_left(choice: Choice) -> Sequence[str]:
    """Return the only column without a role in a table of files that an index resolves."""
    has_index = choice.key and choice.sample.found
    left = without_role(choice.usable, choice.taken, choice.sample) if has_index else ()
    return left if len(left) == 1 else ()


def _is_caption(choice: Choice, name: str) -> bool:
    """Return whether the rows of a file differ only in a text, and in a number of the row."""
    column = choice.column(name)
    if column.is_numeric or column.is_list or not _is_free(choice, name) or name in choice.taken:
        return False
    return choice.column(choice.key).repeats and numbers_beside(choice, name) is not None


def numbers_beside(choice: Choice, caption: str) -> frozenset[str] | None:
    """Return the columns that number the captions of a file; None if there are others."""
    taken = choice.taken | {caption}
    others = {key: name for key, name in choice.by_name.items() if name not in taken}
    return frozenset(others.values()) if others.keys() <= set(known.NUMBERS) else None


Accepts = Callable[[Choice, str], bool]


class Rule(NamedTuple):
    """A way for columns to get a role.

    Attributes:
        role: The role.
        names: Usual names in lower case, the first one that a table has wins; those of several
            columns have commas. Or a function that returns the columns in question, if any.
        accepts: Whether a column may have the role.
        what: What the columns hold, for docs/from/tables.md.
        without: Roles that must have no column.
        needs: Roles of which one must have columns; () for none.
    """

    role: str
    names: Sequence[str] | Callable[[Choice], Collection[str]]
    accepts: Accepts
    what: str
    without: Collection[str] = ()
    needs: Collection[str] = ()


RULES = (
    Rule("audio", known.AUDIO, _is_file_of("audio"), "audio"),
    Rule("array", known.ARRAY, _is_file_of("array"), "arrays"),
    Rule("image", known.IMAGE, _names_images, "images"),
    Rule("image", known.IMAGE, _may_name_images, "texts, ids", ("audio", "array")),
    Rule("image", _only_file_of("image"), _is_any, "the only images"),
    Rule("audio", _only_file_of("audio"), _is_any, "the only audio"),
    Rule("files", _other_files, _is_any, "all other files"),
    Rule("split", known.SPLIT, _is_free, "texts; asked for numbers"),
    Rule("split", _only_of_splits, _is_no_label, "names of splits"),
    Rule(
        "box",
        known.BOXES,
        lambda choice, name: choice.column(name).are_fours,
        "four numbers",
        needs=("image",),
    ),
    Rule(
        "boxes",
        known.BOXES,
        lambda choice, name: choice.column(name).is_nested,
        "JSON, all boxes",
        ("box",),
        needs=("image",),
    ),
    Rule(
        "corners",
        [",".join(names) for names, _ in known.CORNERS],
        _is_corner,
        "numbers",
        ("box", "boxes"),
        needs=("image",),
    ),
    Rule(
        "run lengths",
        known.RUN_LENGTHS,
        _is_free,
        "masks",
        ("box", "boxes", "corners"),
        needs=("image",),
    ),
    Rule(
        "size",
        [",".join(names) for names in itertools.product(known.WIDTH, known.HEIGHT)],
        _is_size,
        "pixels, next to boxes",
        needs=_ALL_BOXES,
    ),
    Rule(
        "labels of boxes",
        known.LABELS.beside_boxes,
        lambda choice, name: choice.column(name).is_nested,
        "a list next to boxes",
        needs=("boxes",),
    ),
    Rule("label", known.LABELS.of_tables, _may_be_label, "texts, whole numbers"),
    Rule("label", known.LABELS.lists_of_record, _may_be_labels, "lists of classes", ("boxes",)),
    Rule(
        "number to predict",
        lambda choice: choice.of_some,
        _is_amount,
        "numbers that a test set lacks",
        ("label", *_ALL_BOXES),
    ),
    Rule(
        "label",
        lambda choice: choice.of_some,
        _may_be_only_label,
        "classes that a test set lacks",
        ("number to predict", *_ALL_BOXES),
    ),
    Rule(
        "label",
        _only_left,
        _may_be_only_label,
        "the only column next to ids of files",
        ("number to predict", *_ALL_BOXES),
    ),
    Rule("captions", known.CAPTIONS, _is_caption, "several rows per file", _ALL_BOXES),
    Rule(
        "classes",
        _marked,
        _is_any,
        "0 and 1 (or -1) per class",
        ("label", "number to predict", "captions", *_ALL_BOXES),
        needs=_FILES,
    ),
)


def without_role(names: Iterable[str], taken: Collection[str], sample: Sample) -> list[str]:
    """Return the columns that are not taken, nor part of a path template."""
    in_template = names_in_template(sample)
    return [name for name in names if name not in taken and name not in in_template]


def names_in_template(sample: Sample) -> set[str]:
    """Return the columns that paths are made of."""
    return {name for table in sample.tables for _, name in table.cells.template if name}


def may_be_classes(name: str, sample: Sample) -> bool:
    """Return whether a column has no sentences, URLs, ids or many numbers."""
    texts = sample.column(name).texts
    is_other = lowered(name) in _NO_CLASSES or is_id(name) or any("://" in text for text in texts)
    has_sentences = sum(text.count(" ") for text in texts) > _MAX_SPACES * len(texts)
    return bool(texts) and not is_other and not has_sentences and not _are_many(texts)


def has_classes(name: str, sample: Sample) -> bool:
    """Return whether the values of a column repeat and may be classes."""
    column = sample.column(name)
    repeat = 1 < len(column.texts) <= len(sample.cells(name)) // _ROWS_OF_A_CLASS
    return repeat and not is_amount(column) and may_be_classes(name, sample)


def is_amount(column: ColumnSample) -> bool:
    """Return whether values are numbers to predict, not classes."""
    return column.are_no_classes or (column.is_numeric and _are_many(column.texts))


def _are_many(values: Sequence[str]) -> bool:
    """Return whether numbers are too many, or too large, for numbers of classes."""
    numbers = [int(value) for value in values if value.isdecimal() and value.isascii()]
    return len(numbers) > _MANY_NUMBERS or max(numbers, default=0) >= _LARGE_NUMBER
