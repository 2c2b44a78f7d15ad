"""The signs of layouts whose files hold many records each: tars, arrays and TFRecords.

As in `signs`, each `find_…` takes a tree and the folder in it to look at, and returns (path, what
was seen) pairs.
"""

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.arrays.files import is_array
from beam_pipeline.sources.folders import main_kind
from beam_pipeline.sources.input_files import stated_splits
from beam_pipeline.sources.paths import is_split_name, media_kind, suffix
from beam_pipeline.sources.tar.read import is_compressed_tar
from beam_pipeline.sources.tfrecord.files import is_named_so, kind_of_file
from beam_pipeline.sources.tree import Tree, joined, shown

Found = list[tuple[str, str]]
_PEEKED_FILES = 5


def find_tars(tree: Tree, top: str) -> Found:
    """Files called .tar, in the folder or below."""
    return _found(tree, top, [name for name in _files(tree, top) if suffix(name) == "tar"])


def find_compressed_tars(tree: Tree) -> list[str]:
    """Files called .tar.gz, .tgz, …, which are no input."""
    return [name for name in _files(tree, "") if is_compressed_tar(name)]


def find_arrays(tree: Tree, top: str) -> Found:
    """Files called .npy or .npz, more than images or sounds; in no folders but splits."""
    files = _files(tree, top)
    if main_kind(files) != "array":
        return []
    arrays = [name for name in files if is_array(name)]
    folders = {name.rpartition("/")[0] for name in arrays}
    if folders != {""} and not all(map(is_split_name, folders)):
        return []  # folders of classes
    return _found(tree, top, arrays)


def find_tfrecords(tree: Tree, top: str) -> Found:
    """Files that begin as TFRecord files do, whatever they are called."""
    files = _files(tree, top)
    named = list(filter(is_named_so, files))
    likely = named or [name for name in files if not media_kind(name)]
    seen = [name for name in likely[:_PEEKED_FILES] if is_tfrecord(tree.path(joined(top, name)))]
    return _found(tree, top, (named if seen else []) or seen)


def is_tfrecord(path: str) -> bool:
    """Whether a file begins as TFRecord files do, or its content does where it is gzip."""
    try:
        return kind_of_file(path) is not None
    except RecordError:
        return False


def _files(tree: Tree, top: str) -> list[str]:
    """Of the files below `top`, those of its first folders."""
    return [
        joined(relative, name)[len(joined(top, "")) :]
        for relative, listing in tree.walk(top)
        for name in listing.files
    ]


def _found(tree: Tree, top: str, files: list[str]) -> Found:
    if not files:
        return []
    files = sorted(files)
    return [(top, shown(files, "file") + _told_splits(files))]


def _told_splits(files: list[str]) -> str:
    """The splits that the names of all state, or that only some state one."""
    if splits := sorted({split for split in stated_splits(files) if split}):
        return f" in {', '.join(splits)}"
    told = {bool(stated_splits([file])[0]): file for file in reversed(files)}
    if len(told) < 2:
        return ""
    return f"; no splits, since {told[True]} states one and {told[False]} none"
