"""Names of a table's classes, which a file beside it says."""

import shlex

from beam_pipeline.files import storage
from beam_pipeline.sources.class_maps import ClassMap, class_map
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.manifest.first_rows import Seen, texts_of
from beam_pipeline.sources.paths import below, folder, joined
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import look_into


def named_beside(seen: Seen, columns: Columns, ignored: Ignored) -> ClassMap | None:
    """The names of the classes of tables that a file in their folders says, or at the top."""
    column = columns.label or columns.box_labels
    root = seen.tables[0].manifest.root
    if not column or storage.is_remote(root):
        return None
    values = texts_of(seen.rows).get(column, ())
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
