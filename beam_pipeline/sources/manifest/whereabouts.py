"""Where the files lie that a table names, if not beside it: what makes paths of its values."""

import dataclasses
import shlex
from collections.abc import Iterable, Mapping, Sequence

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.columns.options import TableOptions
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.first_rows import FirstRows
from beam_pipeline.sources.paths import below, media_kind, suffix
from beam_pipeline.sources.tree import Listing, Tree

_MAX_COLUMNS = 100
# Values of a column that are looked for: so many, and fewer where the names of a folder are not
# all at hand. As many of them must be there.
_VALUES = 100
_ASKED_FOR = 10
_SHARE = 0.9


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """What makes paths of the values of a column.

    Attributes:
        column: Its name.
        folder: Where the files lie, an absolute path or URL.
        suffix: Of the files, where the values have none; else "".
        kind: "image", "audio" or "array".
        number: How many files were found.
    """

    column: str
    folder: str
    suffix: str
    kind: str
    number: int

    def options(self, table_folder: str) -> dict[str, str]:
        """The options of a build that read the files, by name; none if nothing else can."""
        if not self.suffix:
            return {} if self.folder == table_folder else {"image_root": self.folder}
        name = self.column.replace("{", "{{").replace("}", "}}")
        template = f"{{{name}}}.{self.suffix}"
        if self.kind != "image" or name != self.column:
            return {}
        if self.folder == table_folder:
            return {"image_template": template}
        if self.folder.startswith(f"{table_folder}/"):
            inner = self.folder[len(table_folder) + 1 :]
            return {"image_template": f"{inner}/{template}"}
        return {"image_root": self.folder, "image_template": template}


def as_arguments(options: Mapping[str, str]) -> str:
    """Options as they are typed: "--image-template 'train/{id}.jpg'"."""
    return " ".join(
        f"--{name.replace('_', '-')} {shlex.quote(value)}" for name, value in options.items()
    )


def texts_of(rows: FirstRows) -> dict[str, list[str]]:
    """What the columns of the first rows have of short texts, each value once."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for name, value in row.values.items():
            if (isinstance(value, str) and value.strip()) or type(value) is int:
                found.setdefault(name, {})[str(value).strip()] = None
    return {name: list(values)[:_VALUES] for name, values in found.items()}


def whereabouts(tree: Tree, texts: Mapping[str, Sequence[str]]) -> Whereabouts | None:
    """The column whose values, with a folder and perhaps a suffix, are files of a tree.

    Args:
        tree: Where the files are looked for.
        texts: Values by column.
    """
    places = [
        (place, listing)
        for place, listing in tree.walked.items()
        if any(map(media_kind, listing.files))
    ]
    found = [
        whereabout
        for column, values in list(texts.items())[:_MAX_COLUMNS]
        for place, listing in places
        for whereabout in _in_folder(tree.path(place), listing, column, values)
    ]
    return max(found, key=lambda each: (each.number, each.kind), default=None)


def _in_folder(
    folder: str, listing: Listing, column: str, values: Sequence[str]
) -> Iterable[Whereabouts]:
    with_suffix = all(map(media_kind, values))
    if not with_suffix and any("/" in value for value in values):
        return
    endings = {"": ""} if with_suffix else {suffix(name): name for name in listing.files}
    names = frozenset(listing.files)
    for ending, example in endings.items():
        if ending and not media_kind(example):
            continue
        written = example.rpartition(".")[2]
        paths = [f"{value}.{written}" if ending else value for value in values]
        if not listing.is_whole:
            paths = paths[:_ASKED_FOR]
        if listing.is_whole:
            number = len(names.intersection(paths))
        else:
            number = sum(_exists(below(folder, path)) for path in paths)
        if number and number >= _SHARE * len(paths):
            yield Whereabouts(
                column=column,
                folder=folder,
                suffix=written if ending else "",
                kind=media_kind(paths[0]),
                number=number,
            )


def _exists(path: str) -> bool:
    try:
        return storage.exists(path)
    except (OSError, ConfigError):
        return False


def check_whereabouts(
    table: Manifest, texts: Mapping[str, Sequence[str]], options: TableOptions
) -> None:
    """Raises ConfigError where the files that a table names lie elsewhere below its folder.

    Args:
        table: Of which no value is the path of a file.
        texts: Values by column.
        options: What a user says: nothing is looked for where the files are told, or left out.
    """
    is_told = options.schema or options.image_root or options.image_template
    if is_told or storage.is_remote(table.path):
        return
    left_out = {*options.ignore_columns, *options.labels, options.split_column}
    texts = {name: values for name, values in texts.items() if name not in left_out}
    found = whereabouts(Tree(table.folder), texts)
    if found is None:
        return
    example = below(found.folder, texts[found.column][0])
    if found.suffix:
        example += f".{found.suffix}"
    ways = found.options(table.folder)
    way = f"pass {as_arguments(ways)}" if ways else "write their paths into a column of it"
    raise ConfigError(
        f"{table.path}: column {found.column!r} names files such as {example}, but not as paths "
        f"from the table's folder; {way}, or read the table without them by --ignore-columns "
        f"{shlex.quote(found.column)}"
    )
