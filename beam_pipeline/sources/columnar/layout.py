"""The layouts of files of row groups, as Hugging Face and data warehouses export them."""

from collections.abc import Sequence

from beam_pipeline.sources.columnar.read import ReadArrow, ReadColumnar, ReadParquet
from beam_pipeline.sources.layout import (
    Layout,
    Place,
    container_places,
    options_taken,
    reading,
)
from beam_pipeline.sources.tree import Tree


def _layout(name: str, sign: str, source: type[ReadColumnar]) -> Layout:
    def find(tree: Tree) -> Sequence[Place]:
        """Files of its suffixes, but for the indexes of TFRecord files (docs/format.md)."""
        files = [name for name in tree.files() if source.is_meant(name)]
        return container_places([name for name in files if ".tfrecord" not in name])

    return Layout(
        name=name,
        sign=sign,
        kind="container",
        read=reading(source, divided=lambda config: len(config.split) > 1),
        takes=options_taken(source),
        suffixes=source.suffixes,
        find=find,
    )


PARQUET = _layout("parquet", ".parquet files", ReadParquet)
ARROW = _layout("arrow", ".arrow or .feather files", ReadArrow)
