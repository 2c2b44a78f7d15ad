"""The layout `tar`: tar files as WebDataset has them."""

import functools

from beam_pipeline.sources.layout import (
    Layout,
    container_places,
    first_file,
    read_by,
)
from beam_pipeline.sources.paths import suffix
from beam_pipeline.sources.tar.read import ReadTar, is_tar, refuse_compressed

LAYOUT = Layout(
    name="tar",
    sign=".tar files",
    kind="container",
    **read_by(ReadTar),
    find=lambda tree: container_places([f for f in tree.files() if suffix(f) == "tar"]),
    suffixes=("tar", "tgz", "tar.bz2", "tbz2", "tar.xz", "txz", "tar.zst"),
    accept=functools.partial(first_file, fits=is_tar),
    refuse=refuse_compressed,
)
