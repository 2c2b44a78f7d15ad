"""Random access to records as NumPy values without TensorFlow: for PyTorch, Grain and others.

Examples:
    >>> split = tfrecord_dataset.open("data/cells")["train"]
    >>> len(split), split[0]["image"].shape
    (24, (48, 48, 3))
"""

import dataclasses
import functools
import operator
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, cast, overload

import numpy as np
import numpy.typing as npt

from tfrecord_dataset.errors import DatasetChangedError, DatasetDamagedError, UnknownNameError
from tfrecord_dataset.format import example
from tfrecord_dataset.format.feature_keys import specs_to_read
from tfrecord_dataset.records.contents import Contents
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.records.opening import named_paths, open_paths
from tfrecord_dataset.records.reader import RecordReader
from tfrecord_dataset.store.urls import is_remote
from tfrecord_dataset.values import numpy_values

Record = dict[str, Any]
"""The values of a record, by feature name."""


Numbers = Sequence[int] | npt.NDArray[np.integer[Any]]


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Dataset(Contents):
    """An opened dataset: `splits`, `features`, and the records of each split."""

    _reopen: "Callable[[], Dataset] | None" = dataclasses.field(
        default=None, repr=False, compare=False
    )

    def __getitem__(self, split: str) -> "Records":
        """All features of a split's records, decoded."""
        return self.records(split)

    def __iter__(self) -> Iterator[str]:
        """The names of the splits, as in a mapping."""
        return iter(self.splits)

    def records(
        self,
        split: str | None = None,
        *,
        features: Collection[str] | None = None,
        decode: bool = True,
    ) -> "Records":
        """Select the records of a split.

            >>> labels = tfrecord_dataset.open("data/cells").records("train", features=["label"])
            >>> labels[[1, 5]][0].keys()
            dict_keys(['label'])

        Args:
            split: Name of the split; optional if there is only one.
            features: Names of the features to read; all by default.
            decode: Whether to decode images and audio; otherwise they stay encoded bytes.

        Raises:
            UnknownNameError: The split or a feature does not exist.
            ConfigError: There are several splits, and no name is given.
            DatasetDamagedError: An index does not match its shard, or a bare file is damaged.
        """
        chosen = self.split(split)
        for name in features or ():
            if name not in self.features:
                raise UnknownNameError("feature", name, self.features, self.path)
        names = tuple(self.features) if features is None else tuple(features)
        return Records(self, chosen.name, names, decode)


def open(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    cache_dir: str | None = None,
    cache_bytes: int | None = None,
    allow_missing_shards: bool = False,
) -> Dataset:
    """Open a dataset to read its records by number.

        >>> dataset = tfrecord_dataset.open("data/cells")
        >>> dataset["train"][0]["image"].shape
        (48, 48, 3)

    Args:
        path: A dataset directory (…/name/version); or its parent, for the newest finished
            version; or the parent of that, if it has only one dataset; or a glob, a file, or a
            list of them, for bare TFRecord files, whose features are inferred. Local, or on a
            store: gs://, s3://, az:// or https:// (docs/object-stores.md).
        cache_dir: Local folder for copies of a store's shards, which processes may share;
            by default `~/.cache/beam-tfrecords/shards`.
        cache_bytes: Maximal size of the copies; by default half of the free space on their disk.
        allow_missing_shards: Whether to open bare files if some are missing from a numbering such
            as `train-00000-of-00010`.

    Raises:
        NotADatasetError: The directory has no finished dataset, a file does not exist, or files
            have no Examples.
        DatasetDamagedError: metadata.json cannot be read, one of its shards is missing,
            or a file is damaged.
    """
    paths = [each if is_remote(each) else os.path.abspath(each) for each in named_paths(path)]
    options: Any = {
        "cache_dir": cache_dir,
        "cache_bytes": cache_bytes,
        "allow_missing_shards": allow_missing_shards,
    }
    dataset = open_paths(Dataset, paths, **options)
    again = [dataset.path] if len(paths) == 1 else paths
    return dataclasses.replace(dataset, _reopen=functools.partial(open, again, **options))


class Records(Sequence[Record]):
    """Records of a split by number: a data source for PyTorch's and Grain's loaders.

    Can be pickled and used after a fork: each process opens the files for itself, and raises an
    error if they have changed. Made by `Dataset.records`.
    """

    def __init__(self, dataset: Dataset, split: str, names: tuple[str, ...], decode: bool) -> None:
        self._path, self._reopen, self._remedy = dataset.path, dataset._reopen, dataset.remedy
        self._fingerprint = dataset.fingerprint
        self._split = split
        features = [dataset.features[name] for name in names]
        self._features = [(feature, specs_to_read(feature)) for feature in features]
        self._keys = {key for _, specs in self._features for key in specs}
        self._decode = decode
        stated = dataset.split(split).num_records
        self._num_records = dataset.index(split).num_records if stated is None else stated
        self._process = os.getpid()
        self._dataset: Dataset | None = dataset
        self._reader: RecordReader | None = None

    def __len__(self) -> int:
        return self._num_records

    def __repr__(self) -> str:
        names = ", ".join(feature.name for feature, _ in self._features)
        return f"{len(self):,} records of {self._split!r} in {self._path}: {names}"

    @overload
    def __getitem__(self, number: int) -> Record: ...
    @overload
    def __getitem__(self, number: slice | Numbers) -> list[Record]: ...

    def __getitem__(self, number: int | slice | Numbers) -> Record | list[Record]:
        """Return a record by number, or several in order by a list, array or slice.

        Records are numbered in the order of the shards; negative numbers count from the end.

        Raises:
            IndexError: The record does not exist.
            DatasetDamagedError: A record is damaged, or does not fit its features.
            DatasetChangedError: The files have changed.
        """
        if isinstance(number, slice):
            return self.__getitems__(range(*number.indices(len(self))))
        if isinstance(number, Sequence) or np.ndim(number):
            return self.__getitems__(cast(Numbers, number))
        one = operator.index(cast(int, number))
        if not -len(self) <= one < len(self):
            raise self._missing(one)
        return self.__getitems__([one])[0]

    def __getitems__(self, numbers: Numbers) -> list[Record]:
        """Return several records, read together; PyTorch's loader fetches batches by this name."""
        chosen = self._numbers(numbers)
        index, reader = self._opened()
        return [
            self._record(index, number, serialized)
            for number, serialized in zip(chosen.tolist(), reader.read(chosen), strict=True)
        ]

    def _numbers(self, numbers: Numbers) -> Any:
        """Normalise to int64 [n], each from 0."""
        asked = np.asarray(numbers)
        if asked.size and asked.dtype.kind not in "iu":
            raise TypeError(f"records are chosen by whole numbers, not by {numbers!r:.80}")
        asked = asked.astype(np.int64).reshape(-1)
        chosen = np.where(asked < 0, asked + len(self), asked)
        wrong = (chosen < 0) | (chosen >= len(self))
        if wrong.any():
            raise self._missing(int(asked[wrong][0]))
        return chosen

    def _missing(self, number: int) -> IndexError:
        return IndexError(
            f"there is no record {number} in split {self._split!r}, which has {len(self):,}"
        )

    def _record(self, index: RecordIndex, number: int, serialized: bytes) -> Record:
        try:
            lists = example.lists(serialized, self._keys)
            record: Record = {}
            for feature, specs in self._features:
                record |= numpy_values(feature, lists, specs, decode=self._decode)
        except ValueError as error:
            raise DatasetDamagedError(
                f"{index.describe(number)}: {error}; {self._remedy}"
            ) from error
        return record

    def _opened(self) -> tuple[RecordIndex, RecordReader]:
        """The index and the reader of this process."""
        if self._process != os.getpid():  # threads and locks do not outlive a fork
            self._process, self._dataset, self._reader = os.getpid(), None, None
        if self._dataset is None:
            self._dataset = self._opened_again()
        index = self._dataset.index(self._split)
        if self._reader is None:
            self._reader = RecordReader(index)
        return index, self._reader

    def _opened_again(self) -> Dataset:
        assert self._reopen is not None
        dataset = self._reopen()
        found = dataset.fingerprint, dataset.index(self._split).num_records
        if found != (self._fingerprint, len(self)):
            raise DatasetChangedError(
                f"{self._path} was built again since it was opened; open it again"
            )
        return dataset

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_dataset": None, "_reader": None}
