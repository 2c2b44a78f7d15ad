"""The layout `parquet`: files of rows, as Hugging Face and data warehouses export them."""

from collections.abc import Sequence

from beam_pipeline.sources.layout import (
    Layout,
    Place,
    container_places,
    options_taken,
    reading,
)
from beam_pipeline.sources.parquet.read import ReadParquet, is_parquet
from beam_pipeline.sources.tree import Tree


def find_parquet(tree: Tree) -> Sequence[Place]:
    """Files called .parquet, but for the indexes of TFRecord files (docs/format.md)."""
    files = [name for name in tree.files() if is_parquet(name)]
    return container_places([name for name in files if ".tfrecord" not in name])


LAYOUT = Layout(
    name="parquet",
    sign=".parquet files",
    kind="container",
    read=reading(ReadParquet, divided=lambda config: len(config.split) > 1),
    takes=options_taken(ReadParquet),
    suffixes=("parquet",),
    find=find_parquet,
)
