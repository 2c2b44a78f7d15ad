"""What the index holds of each record: values of scalars and texts, sizes of images, labels."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from beam_pipeline.describe.index import fact_column, own_columns
from beam_pipeline.media.images import size_in_file
from beam_pipeline.report.sampled_records import Sampled
from tfrecord_dataset.errors import BeamTFRecordsError
from tfrecord_dataset.records.contents import Contents, Split
from tfrecord_dataset.shown_text import counted

# Limits of all columns together, so that a page is cheap for any dataset.
_MOST_VALUES = 2_000_000
_MOST_BYTES = 32 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Facts of the first records of each split.

    Attributes:
        splits: Name and number of rows by split, in the order of the rows.
        values: Columns of scalars and texts by feature.
        sizes: Columns of widths and heights by image feature.
        classes: Class names, and the row and name of each label as int64 [labels, 2], without
            repetitions in a row; no labels if they are not known.
        of: "all 60 records", or "a sample of 60 records" if there are more.
    """

    splits: Mapping[str, int]
    values: Mapping[str, pyarrow.ChunkedArray]
    sizes: Mapping[str, Sequence[pyarrow.ChunkedArray]]
    classes: tuple[Sequence[str], npt.NDArray[np.int64]]
    of: str


def rows(dataset: Contents, records: Sequence[Sampled]) -> Rows:
    """Read the rows of the index, or make them of sampled records where there is none."""
    features = list(dataset.features.values())
    images = [feature for feature in features if feature.kind == "image"]
    own = own_columns(features)
    sides = {
        each.name: [fact_column(each, side) for side in ("width", "height")] for each in images
    }
    names = [*own.values(), *itertools.chain(*sides.values()), "labels"]
    total = sum(map(dataset.num_records, dataset.splits))
    try:
        tables = {
            name: _first(split, names, dataset.num_records(name) / max(1, total))
            for name, split in dataset.splits.items()
        }
        table = pyarrow.concat_tables(tables.values())
        splits = {name: each.num_rows for name, each in tables.items()}
        classes = _classes(table["labels"])
    except (BeamTFRecordsError, pyarrow.ArrowException, KeyError, OSError):
        # No index, or one that `verify` reports as damaged.
        table, classes = _sampled(own, sides, records), ((), np.zeros((0, 2), np.int64))
        splits = {
            split: len([*some]) for split, some in itertools.groupby(r.split for r in records)
        }
    return Rows(
        splits=splits,
        values={name: table[column] for name, column in own.items()},
        sizes={name: [table[column] for column in columns] for name, columns in sides.items()},
        classes=classes,
        of=in_words(table.num_rows, total),
    )


def _classes(labels: pyarrow.ChunkedArray) -> tuple[Sequence[str], npt.NDArray[np.int64]]:
    lists = labels.combine_chunks()
    names = pyarrow.compute.list_flatten(lists).dictionary_encode()
    rows = pyarrow.compute.list_parent_indices(lists).to_numpy().astype(np.int64)
    number = max(1, len(names.dictionary))
    pairs = np.sort(rows * number + names.indices.to_numpy())
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    return names.dictionary.to_pylist(), np.stack(np.divmod(pairs, number), axis=-1)


def _first(split: Split, names: Sequence[str], share: float) -> pyarrow.Table:
    """Read columns of the first records of a split, whose share of the limits this is."""
    tables = []
    left_values, left_bytes = share * _MOST_VALUES, share * _MOST_BYTES
    for table in _groups(split, names):
        tables.append(table)
        left_values -= table.num_rows * table.num_columns
        left_bytes -= table.nbytes
        if left_values <= 0 or left_bytes <= 0:
            break
    return pyarrow.concat_tables(tables)


def _groups(split: Split, names: Sequence[str]) -> Iterator[pyarrow.Table]:
    for shard in range(len(split.files)):
        if (data := split.read_rows(shard)) is None:
            raise KeyError("no index")
        file = pyarrow.parquet.ParquetFile(
            pyarrow.BufferReader(data), page_checksum_verification=True
        )
        for group in range(file.num_row_groups):
            yield file.read_row_group(group, columns=[*names], use_threads=False)


def _sampled(
    own: Mapping[str, str], sides: Mapping[str, Sequence[str]], records: Sequence[Sampled]
) -> pyarrow.Table:
    columns = {
        column: [_plain(record.values.get(name)) for record in records]
        for name, column in own.items()
    }
    for name, names in sides.items():
        sizes = [size_in_file(record.values[name]) for record in records]
        columns[names[0]] = [size.width for size in sizes]
        columns[names[1]] = [size.height for size in sizes]
    return pyarrow.table({"": range(len(records)), **columns})


def _plain(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def in_words(number: int, total: int) -> str:
    """Return "all 60 records", or "a sample of 60 records" if there are more."""
    return f"{'all' if number == total else 'a sample of'} {counted(number, 'record')}"
