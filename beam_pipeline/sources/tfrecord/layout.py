"""The layout `tfrecord`: files that begin like TFRecord files, whatever they are called."""

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.layout import (
    Layout,
    Place,
    container_places,
    first_file,
    read_by,
)
from beam_pipeline.sources.paths import media_kind
from beam_pipeline.sources.tfrecord.declared import complete_with_keys
from beam_pipeline.sources.tfrecord.files import is_named_so, kind_of_file
from beam_pipeline.sources.tfrecord.read import ReadTFRecords
from beam_pipeline.sources.tree import Tree

_FILES_LOOKED_INTO = 5


def find_tfrecords(tree: Tree) -> list[Place]:
    """Files that begin as TFRecord files do: all that are named so, if the first do."""
    files = tree.files()
    named = list(filter(is_named_so, files))
    likely = named or [name for name in files if not media_kind(name)]
    first = [name for name in likely[:_FILES_LOOKED_INTO] if is_tfrecord(tree.path(name))]
    return container_places((named if first else []) or first)


def is_tfrecord(path: str) -> bool:
    """Whether a file begins as TFRecord files do, or its content does where it is gzip."""
    try:
        return kind_of_file(path) is not None
    except RecordError:
        return False


LAYOUT = Layout(
    name="tfrecord",
    sign="files that begin like TFRecord files",
    kind="container",
    **read_by(ReadTFRecords),
    find=find_tfrecords,
    accept=lambda folder: first_file(folder, lambda file: True),
    begins=is_tfrecord,
    complete=complete_with_keys,
)
