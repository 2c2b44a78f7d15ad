"""Identities of records as hashes, of their group or content, and classes, from the index.

Whole columns are read at once, 0.1 to 0.2 µs per record: a split may have 100 million records.
"""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
"""A hash per record: [n]."""

# Enough of a hexadecimal SHA-256, whose characters are as good as random.
_DIGEST_CHARACTERS = 16
_WORD_BYTES = 8
_BLOCK = 1 << 14
# Of splitmix64.
_FACTORS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)
# By number of bytes of a word that count.
_MASKS = np.array([(1 << 8 * count) - 1 for count in range(_WORD_BYTES + 1)], np.uint64)


def hashes_of_rows(index: bytes, group_by: str) -> Hashes | None:
    """Hash the identities in a shard's index: groups, else digests of images and audio.

    Args:
        index: Content of index/<shard>.parquet.
        group_by: A column, or a level of the key from 1; "" for digests.

    Returns:
        One hash per record, equal for equal identities; None if the index does not contain them.
    """
    import pyarrow.compute as pc  # only needed to divide a split
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(io.BytesIO(index), page_checksum_verification=True)
    names = file.schema_arrow.names

    def column(name: str) -> Any:
        return file.read(columns=[name], use_threads=False).column(0)

    if group_by.isdigit():
        return hashes_of_texts(
            pc.list_element(pc.split_pattern(column("key"), "/"), int(group_by) - 1)
        )
    if group_by:
        return hashes_of_texts(column(group_by)) if group_by in names else None
    digests = [column(name) for name in names if name.endswith("sha256")]
    if not digests:
        return None
    hashes = np.zeros(file.metadata.num_rows, np.uint64)
    is_empty = np.ones(len(hashes), bool)
    for digest in digests:
        hashes = mixed(hashes ^ hashes_of_texts(digest, _DIGEST_CHARACTERS))
        is_empty &= pc.equal(pc.fill_null(digest, ""), "").to_numpy()
    if is_empty.any():
        hashes[is_empty] = hashes_of_texts(column("key"))[is_empty]
    return hashes


def labels_of_rows(index: bytes, classes: Sequence[str]) -> npt.NDArray[Any] | None:
    """Return the number of each record's first label in a shard's index among `classes`.

    It is -1 for a record without one, in the smallest type; None if the index has no labels.
    """
    import pyarrow as pa  # only needed for classes by record
    import pyarrow.compute as pc
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(io.BytesIO(index), page_checksum_verification=True)
    if "labels" not in file.schema_arrow.names:
        return None
    dtype = np.min_scalar_type(-1 - len(classes))
    of_shard = [np.zeros(0, dtype)]
    for batch in file.iter_batches(columns=["labels"]):
        lists = batch.column(0)
        numbers = pc.fill_null(pc.index_in(lists.values, pa.array(classes, pa.string())), -1)
        offsets = lists.offsets.to_numpy()
        first = np.where(np.diff(offsets) > 0, offsets[:-1], len(numbers))
        of_shard.append(np.append(numbers, -1)[first].astype(dtype))
    return np.concatenate(of_shard)


def hashes_of_texts(values: Any, most_bytes: int | None = None) -> Hashes:
    """Hash values of an Arrow column as texts, the first `most_bytes` of each; null is "null"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    filled = pc.fill_null(pc.cast(values, pa.large_string()), "null")
    # Behind the last text are the bytes of a further word, so that each word can be read whole.
    texts = pa.chunked_array([*filled.chunks, pa.array(["\0" * _WORD_BYTES], pa.large_string())])
    _, offsets, data = texts.combine_chunks().buffers()
    starts = np.frombuffer(offsets, np.int64, len(texts))
    lengths = np.diff(starts) if most_bytes is None else np.minimum(np.diff(starts), most_bytes)
    words_at = np.ndarray(int(starts[-1]) + 1, "<u8", data, strides=(1,))
    hashes = np.empty(len(lengths), np.uint64)
    for first in range(0, len(hashes), _BLOCK):  # fits the processor's cache
        block = slice(first, first + _BLOCK)
        hashes[block] = _hashes(words_at, starts[:-1][block], lengths[block])
    return hashes


def _hashes(words_at: Hashes, starts: Any, lengths: Any) -> Hashes:
    hashes = lengths.astype(np.uint64) * _FACTORS[1]
    shortest = lengths.min()
    for begin in range(0, int(lengths.max()), _WORD_BYTES):
        rows = slice(None) if begin < shortest else np.flatnonzero(lengths > begin)
        left = np.minimum(lengths[rows] - begin, _WORD_BYTES)
        words = (hashes[rows] ^ words_at[starts[rows] + begin] & _MASKS[left]) * _FACTORS[0]
        hashes[rows] = words ^ (words >> np.uint64(29))
    return mixed(hashes)


def mixed(numbers: Hashes) -> Hashes:
    """Mix the bits of each number, by splitmix64's finalizer."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _FACTORS[0]
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _FACTORS[1]
    return numbers ^ (numbers >> np.uint64(31))
