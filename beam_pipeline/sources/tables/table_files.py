"""Find the tables of an input, and the split of each."""

from collections.abc import Callable, Collection, Sequence

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.input_files import InputFile, find_files
from beam_pipeline.sources.paths import folder, stem, uncompressed
from beam_pipeline.sources.references import name_of, parent
from beam_pipeline.sources.splits import splits_of_tables
from beam_pipeline.sources.tables.options import TableOptions
from beam_pipeline.sources.tables.table import TableFile
from tfrecord_dataset.format.split_names import is_split, split_in_name


def find_table_files(
    path: str, options: TableOptions, ignored: Ignored = NOTHING, names: Collection[str] = ()
) -> list[TableFile]:
    """Return the tables that `path` means: a file, or those of these names in a folder.

    Raises:
        ConfigError: There is no such file, or nothing says which file of a folder is meant.
    """
    path = storage.absolute(path).rstrip("/") or "/"
    if names and storage.is_directory(path):
        found = splits_of(sorted(names))
        root, files = path, {storage.join(path, name): (name, found[name]) for name in found}
    elif storage.exists(path):
        root, files = parent(path), {path: (name_of(path), None)}
    else:
        raise ConfigError(
            f"the table {path} does not exist; give a file, or the names of a folder's"
        )
    return [
        table_file(InputFile(path=file, relative=name, split=split), root, options, ignored)
        for file, (name, split) in files.items()
    ]


def find_container_files(
    path: str, is_meant: Callable[[str], bool], options: TableOptions, ignored: Ignored
) -> list[TableFile]:
    """Return the files of any number that `path` means: a file, a folder, or a pattern of files."""
    files, _ = find_files(path, is_meant, ignored)
    roots = [file.path.removesuffix(file.relative).rstrip("/") or "/" for file in files]
    return [
        table_file(file, root, options, ignored) for file, root in zip(files, roots, strict=True)
    ]


def table_file(
    file: InputFile, root: str, options: TableOptions, ignored: Ignored = NOTHING
) -> TableFile:
    """Return a table below `root`, whose names are below a user's root of images, or beside it."""
    images = storage.absolute(options.image_root).rstrip("/") if options.image_root else None
    return TableFile(
        path=file.path,
        relative=file.relative,
        split=file.split,
        folder=images or parent(file.path),
        root=images or root,
        allowed=(root, *options.allow_outside),
        near=split_in_name(file.split or stem(uncompressed(file.relative))) or "",
        ignored=ignored if not images else NOTHING,
    )


def splits_of(names: Sequence[str]) -> dict[str, str | None]:
    """Return the split of each table of one folder, or of one name in the folders of splits.

    A single one leaves it to the build: there is nothing else.
    """
    if len(names) == 1:
        return {names[0]: None}
    folders = [folder(name) for name in names]
    if len(set(folders)) == len(names) and all(is_split(name_of(each)) for each in folders):
        return {name: name_of(parent) for name, parent in zip(names, folders, strict=True)}
    splits = splits_of_tables([name_of(name) for name in names])
    return {name: splits.get(name_of(name)) for name in names}
