"""Names of a table's classes, which a file beside it says.

`label_num_to_disease_map.json` of Kaggle, an object of texts, or of numbers by their names;
`class-descriptions-boxable.csv` of Open Images, a code and a name a row; `LOC_synset_mapping.txt`
of ImageNet, a code before the name.
"""

import csv
import json
import re
import shlex
from collections.abc import Collection, Iterable
from typing import NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.sources.columns.class_values import is_class_number
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.manifest.first_rows import Seen
from beam_pipeline.sources.nesting import is_deep
from beam_pipeline.sources.paths import below, folder, joined, suffix
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import look_into

_MAX_BYTES = 1 << 20
_CALLED = re.compile("class|label|categor|synset|map|name", re.IGNORECASE)


class ClassMap(NamedTuple):
    """Names of classes.

    Attributes:
        path: Of the file that says them.
        names: By what stands for them in labels, in the file's order; by number, if all of
            these are numbers.
    """

    path: str
    names: dict[str, str]


def class_map(paths: Iterable[str], labels: Collection[str]) -> ClassMap | None:
    """The one file that has a name for each of these labels; None if there is none, or several.

    Args:
        paths: Of files that may be one, by their names.
        labels: Some of those of a table; a file that has none for one of them is another's.
    """
    found = [
        ClassMap(path, names)
        for path in sorted(paths)
        if suffix(path) in _READERS and _CALLED.search(path.rpartition("/")[2])
        if (names := _names(path)) and labels and names.keys() >= set(labels)
    ]
    return found[0] if len(found) == 1 else None


def _names(path: str) -> dict[str, str]:
    """What the file says, if each class has a name of its own; else nothing."""
    size = storage.size(path)
    if not size or size > _MAX_BYTES:
        return {}
    try:
        text = storage.read_bytes(FileRef(path=path)).decode("utf-8-sig")
        names = dict(_READERS[suffix(path)](text))
    except (RecordError, ValueError, csv.Error):
        return {}
    if len(set(names.values())) < len(names) or not all(names.values()):
        return {}
    if all(map(is_class_number, names)):
        names = dict(sorted(names.items(), key=lambda item: int(item[0])))
    return names


def _of_json(text: str) -> Iterable[tuple[str, str]]:
    value = None if is_deep(text) else json.loads(text)
    if not isinstance(value, dict):
        raise ValueError
    if len({*map(str, value.values())}) == len(value) and all(
        type(each) is int for each in value.values()
    ):
        value = {str(number): name for name, number in value.items()}  # {"cat": 0}
    if not all(isinstance(each, str) for each in value.values()):
        raise ValueError
    return ((key.strip(), name.strip()) for key, name in value.items())


def _of_csv(text: str) -> Iterable[tuple[str, str]]:
    rows = [row for row in csv.reader(text.splitlines(), strict=True) if row]
    if any(len(row) != 2 for row in rows):
        raise ValueError
    return ((key.strip(), name.strip()) for key, name in rows)


def _of_text(text: str) -> Iterable[tuple[str, str]]:
    """Lines of a code, a blank, and the name."""
    lines = [line.strip().partition(" ") for line in text.splitlines() if line.strip()]
    return ((key, name.strip()) for key, _, name in lines)


_READERS = {"json": _of_json, "csv": _of_csv, "txt": _of_text}


def named_beside(seen: Seen, columns: Columns, ignored: Ignored) -> ClassMap | None:
    """The names of the classes of tables that a file in their folders says, or at the top."""
    column = columns.label or columns.box_labels
    root = seen.tables[0].manifest.root
    if not column or storage.is_remote(root):
        return None
    values = seen.texts.get(column, ())
    labels = {
        label
        for value in values
        for label in (value.split(columns.separator) if columns.separator else [value])
    }
    folders = {"", *(folder(table.manifest.relative) for table in seen.tables)}
    beside = {
        below(root, joined(place, name))
        for place in folders
        for name in look_into(below(root, place), ignored.inside(place)).files
    }
    return class_map(beside - {table.manifest.path for table in seen.tables}, labels)


def classes_told(classes: ClassMap) -> str:
    """What a user is told of names of classes."""
    file = name_of(classes.path)
    code, name = next(iter(classes.names.items()))
    return (
        f"classes are called as {file} says, such as {name!r} for {code!r}; if they are not, pass "
        f"--ignore {shlex.quote(file)}"
    )
