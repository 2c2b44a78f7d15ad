"""Find the tables of an input, and the split of each."""

from collections.abc import Callable, Collection, Mapping, Sequence

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.input_files import InputFile, find_files
from beam_pipeline.sources.paths import folder, stem, suffix, uncompressed
from beam_pipeline.sources.references import name_of, parent
from beam_pipeline.sources.splits import splits_of_tables
from beam_pipeline.sources.tables.options import TableOptions
from beam_pipeline.sources.tables.table import TableFile
from tfrecord_dataset.split_names import is_split, split_in_name


def find_table_files(
    path: str,
    suffixes: Sequence[str],
    options: TableOptions,
    ignored: Ignored = NOTHING,
    names: Collection[str] = (),
) -> list[TableFile]:
    """Return the tables that `path` means.

    Args:
        path: A file; or a folder that has: Hugging Face's metadata file; or one in each folder of a
            split (also below `data/`); or files of `suffixes` named after splits; or a
            single file of `suffixes`.
        suffixes: Of tables, without dot; "metadata." and the first is Hugging Face's.
        options: The user's.
        ignored: Files that are left out.
        names: Those of a folder, if it is known which are meant.

    Raises:
        ConfigError: There is no such file, or it is not clear which.
    """
    path = storage.absolute(path).rstrip("/") or "/"
    if storage.is_directory(path):
        root = path
        found = splits_of(sorted(names)) if names else _tables_in(path, suffixes, ignored)
        files = {storage.join(path, name): (name, split) for name, split in found.items()}
    elif storage.exists(path):
        root, files = parent(path), {path: (name_of(path), None)}
    else:
        raise ConfigError(f"the table {path} does not exist")
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


def _tables_in(path: str, suffixes: Sequence[str], ignored: Ignored) -> Mapping[str, str | None]:
    """Return the split of each table of a folder that is meant, by its path there."""
    metadata = f"metadata.{suffixes[0]}"
    if storage.exists(storage.join(path, metadata)) and not ignored(metadata):
        return {metadata: None}
    found = sorted(
        file.relative
        for file in storage.list_files(path)
        if suffix(uncompressed(file.relative)) in suffixes and file.relative.count("/") <= 2
        if not ignored(file.relative)
    )
    if by_folder := {file: name_of(parent(file)) for file in found if name_of(file) == metadata}:
        return by_folder
    top = [file for file in found if "/" not in file]
    if splits := splits_of_tables(top):
        return splits
    if len(top) == 1:
        return {top[0]: None}
    raise ConfigError(
        f"{path} has {', '.join(top[:5]) or 'no table'}: give one file, or leave others out by "
        f"--ignore"
    )


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
