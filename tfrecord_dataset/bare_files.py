"""Opens bare TFRecord files, whose features are inferred from their first records, or declared."""

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tfrecord_dataset import python_words
from tfrecord_dataset.contents import Contents
from tfrecord_dataset.errors import NotADatasetError
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.inference import DECLARE, guesses, infer
from tfrecord_dataset.observation import Sample, observe
from tfrecord_dataset.record_files import (
    describe_mixed_names,
    first_records,
    matching_files,
    names_below,
    splits_of_files,
)
from tfrecord_dataset.shown_text import one_line
from tfrecord_dataset.store.cache import Cache

_LOG = logging.getLogger(__name__)
_Opened = TypeVar("_Opened", bound=Contents)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The features of the records in bare files.

    Attributes:
        features: By name.
        notes: Guesses, as messages.
        remedy: What to do when a record does not fit the features.
    """

    features: Mapping[str, Feature]
    notes: Sequence[str] = ()
    remedy: str


def open_files(
    kind: type[_Opened],
    path: str,
    patterns: Sequence[str],
    schema_of: Callable[[Sample], Schema],
    cache: Callable[[], Cache],
) -> _Opened:
    """The dataset of the files that `patterns` name.

    Args:
        kind: Contents, or a class that adds to it what may be left out.
        path: Where they are, for messages.
        patterns: Paths and globs.
        schema_of: Makes the schema from the first records.
        cache: Where copies of remote files go.

    Raises:
        NotADatasetError: No such file, or files that hold no Examples.
        ConfigError: As `schema_of` does.
        DatasetDamagedError: A file is damaged.
    """
    files = matching_files(patterns)
    names = names_below(files, patterns)
    splits = splits_of_files(files, names, cache)
    try:
        sample = observe(first_records(files, splits.values()))
    except ValueError as error:
        raise NotADatasetError(
            f"{path} holds records that cannot be read as tf.train.Examples ({error}); convert them"
        ) from error
    schema = schema_of(sample)
    notes = [python_words.note(each) for each in (*describe_mixed_names(names), *schema.notes)]
    for note in notes:
        _LOG.warning("%s", one_line(note))
    return kind(
        path=path,
        features=schema.features,
        splits=splits,
        notes=tuple(notes),
        remedy=python_words.note(schema.remedy),
    )


def inferred_schema(path: str, sample: Sample) -> Schema:
    """The schema inferred from the first records.

    Args:
        path: Where the files are, for messages.
        sample: Of their records.

    Raises:
        NotADatasetError: They have no values.
        ConfigError: A key holds lists of two kinds.
    """
    if not sample.keys:
        raise NotADatasetError(
            f"{path} has no record with any value, so its features cannot be inferred; "
            f'declare them by {DECLARE}, as {{"image": {{"kind": "image"}}, …}}'
        )
    features = infer(sample)
    return Schema(
        features=features,
        notes=guesses(features, sample),
        remedy=f"its features were inferred from the first records; declare that key by {DECLARE}",
    )
