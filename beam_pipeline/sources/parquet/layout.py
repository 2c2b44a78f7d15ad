"""The layout `parquet`: files of rows, as Hugging Face and data warehouses export them."""

import functools

from beam_pipeline.sources.layout import Layout, first_file, options_taken, reading
from beam_pipeline.sources.parquet.read import ReadParquet, is_parquet

LAYOUT = Layout(
    name="parquet",
    sign=".parquet files",
    kind="container",
    read=reading(ReadParquet, divided=lambda config: len(config.split) > 1),
    takes=options_taken(ReadParquet),
    suffixes=("parquet",),
    accept=functools.partial(first_file, fits=is_parquet),
)
