"""The layout `tar`: tar files as WebDataset has them."""

import functools

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.sources.layout import Layout, first_file, options_of, options_taken
from beam_pipeline.sources.tar.read import ReadTar, is_tar, refuse_compressed


def _read(path: str, config: BuildConfig, scratch: str) -> beam.PTransform:
    return ReadTar(path, **options_of(ReadTar, config))


LAYOUT = Layout(
    name="tar",
    sign=".tar files",
    kind="container",
    read=_read,
    takes=options_taken(ReadTar),
    suffixes=("tar",),
    accept=functools.partial(first_file, fits=is_tar),
    refuse=refuse_compressed,
)
