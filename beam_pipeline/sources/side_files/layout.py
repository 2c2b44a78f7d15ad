"""The layout of side files that take no options of their own."""

import re
from collections.abc import Callable

from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.layout import Layout
from beam_pipeline.sources.paths import input_folder
from beam_pipeline.sources.side_files.files import SideFiles
from beam_pipeline.sources.side_files.finding import places_of
from beam_pipeline.sources.side_files.read import ReadSideFiles


def side_file_layout(
    name: str,
    sign: str,
    files: SideFiles,
    begins: re.Pattern[bytes] | None = None,
    accept: Callable[[str], str] | None = None,
) -> Layout:
    """The layout of annotations beside images.

    Args:
        name: What `--layout` calls it.
        sign: What tells it, as an error says it.
        files: What belongs to an image, and how it is read.
        begins: What the first bytes of an annotation must have, for a tree to be found.
        accept: As in `Layout`.
    """
    return Layout(
        name=name,
        sign=sign,
        kind="annotations",
        read=lambda path, config, scratch: ReadSideFiles(
            input_folder(path), files, ignored=Ignored.of(config, path)
        ),
        takes=(),
        find=lambda tree: places_of(tree, files, begins),
        accept=accept,
    )
