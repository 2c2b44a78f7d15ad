"""The layouts of files of row groups, as Hugging Face and data warehouses export them."""

from collections.abc import Callable, Sequence

from beam_pipeline.sources.columnar.read import ReadArrow, ReadColumnar, ReadParquet, ReadSqlite
from beam_pipeline.sources.columnar.sqlite_file import MAGIC
from beam_pipeline.sources.layout import (
    Layout,
    Place,
    container_places,
    read_by,
)
from beam_pipeline.sources.tree import Tree, head


def _layout(
    name: str,
    sign: str,
    source: type[ReadColumnar],
    begins: Callable[[str], bool] | None = None,
) -> Layout:
    def find(tree: Tree) -> Sequence[Place]:
        """Files of its suffixes, but for the indexes of TFRecord files (docs/format.md)."""
        files = [name for suffix in source.suffixes for name in tree.files_with(suffix)]
        files = [name for name in files if begins is None or begins(tree.path(name))]
        return container_places([name for name in files if ".tfrecord" not in name])

    return Layout(
        name=name,
        sign=sign,
        kind="container",
        **read_by(source, divided=lambda config: len(config.split) > 1),
        suffixes=source.suffixes,
        find=find,
        begins=begins,
    )


PARQUET = _layout("parquet", ".parquet files", ReadParquet)
ARROW = _layout("arrow", ".arrow or .feather files", ReadArrow)
SQLITE = _layout(
    "sqlite",
    ".db or .sqlite files that begin like SQLite databases",
    ReadSqlite,
    begins=lambda path: head(path).startswith(MAGIC),
)
