"""The layout `tar`: tar files as WebDataset has them."""

import functools

from beam_pipeline.sources.layout import Layout, first_file, options_taken, reading
from beam_pipeline.sources.tar.read import ReadTar, is_tar, refuse_compressed

LAYOUT = Layout(
    name="tar",
    sign=".tar files",
    kind="container",
    read=reading(ReadTar),
    takes=options_taken(ReadTar),
    suffixes=("tar",),
    accept=functools.partial(first_file, fits=is_tar),
    refuse=refuse_compressed,
)
