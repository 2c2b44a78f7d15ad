"""The layout `tar`: tar files as WebDataset has them."""

import functools
import math

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.sources.layout import Layout, first_file
from beam_pipeline.sources.tar.read import ReadTar, is_tar, refuse_compressed


def _read(path: str, config: BuildConfig, scratch: str) -> beam.PTransform:
    return ReadTar(
        path,
        label_column=config.label_column,
        ignore_columns=config.ignore_columns,
        classes=config.classes,
        schema=config.schema,
        missing_number=math.nan if config.missing_numbers == "nan" else None,
    )


LAYOUT = Layout(
    name="tar",
    sign=".tar files",
    kind="container",
    read=_read,
    suffixes=("tar",),
    accept=functools.partial(first_file, fits=is_tar),
    refuse=refuse_compressed,
)
