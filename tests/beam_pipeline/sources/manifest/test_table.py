"""A further kind of table is one subclass: its ranges and its batches; all else is shared."""

import dataclasses

from beam_pipeline.records import ClassLabel
from beam_pipeline.sources.manifest.read import ReadManifest
from beam_pipeline.sources.manifest.table import Batch, Range, Table

ROWS_A_GROUP = 40


@dataclasses.dataclass(frozen=True, kw_only=True)
class Squares(Table):
    """The squares of as many numbers as the file has bytes, in groups of rows; no text."""

    def ranges(self, range_bytes=0, scratch=""):
        return [Range(self, start, start + ROWS_A_GROUP) for start in range(0, 100, ROWS_A_GROUP)]

    def batches(self, start, end, block_bytes=0):
        rows = range(start, min(end, 100))
        yield Batch(
            columns={"n": list(rows), "square": [n * n for n in rows], "label": ["x"] * len(rows)},
            lines=[row - start for row in rows],
            next_line=len(rows),
            next_offset=end,
        )


@dataclasses.dataclass
class ReadSquares(ReadManifest):
    suffixes = ("squares",)

    def opened(self, manifest):
        return Squares(manifest=manifest, header=("n", "square", "label"))


def test_a_table_of_numbers(tmp_path, read_manifest, write, by_name):
    path = write(tmp_path / "a.squares", "")
    records, _ = by_name(read_manifest(ReadSquares(path)))
    assert {key: record.features for key, record in records.items()} == {
        f"a.squares:{n + 1}": {"n": n, "square": n * n, "label": ClassLabel("x")}
        for n in range(100)
    }
    source = ReadSquares(path, ignore_columns=["label"], label_column="square", classes=["none"])
    first, second, *_ = read_manifest(source)
    assert first.features == {"n": 0, "label": ClassLabel("none")}
    assert second.features == {"n": 1, "label": ClassLabel("1")}
