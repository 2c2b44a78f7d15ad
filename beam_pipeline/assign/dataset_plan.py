"""The plan: splits, shards and schema, which writers need before the first byte."""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from beam_pipeline import kinds
from beam_pipeline.assign import columns
from beam_pipeline.assign.placement import (
    Int64s,
    SplitPlan,
    check_split_names,
    plan_split,
    wanted_shards,
)
from beam_pipeline.assign.sizes import uncounted_bytes
from beam_pipeline.assign.statistics import DUPLICATE, Statistics
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import (
    BeamTFRecordsError,
    ConfigError,
    CountMismatchError,
    DataError,
    MostlyBadError,
)
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.problems import Problem, files_to_ignore, leaving_out, pattern_of
from beam_pipeline.records import NOT_READ
from beam_pipeline.schema.conformance import check_names
from beam_pipeline.schema.inference import (
    complete,
    infer,
    with_depth_scale,
)
from tfrecord_dataset import shown_text
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.inference import is_label_key


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Splits, shards and schema of the records to write.

    Attributes:
        splits: Division of each split into shards, in the order of the splits' names.
        schema: The features of the records.
        numbers_ids: Whether `source_id` is the record's number, as some records have no id.
        problem: Error that prevents the write; None if there is none.
    """

    splits: Mapping[str, SplitPlan]
    schema: tuple[Feature, ...]
    numbers_ids: bool
    problem: BeamTFRecordsError | None

    def shard_numbers(self, table: pa.Table) -> Int64s:
        """Return the shard number of each row, int64 [n], counted over all splits in order."""
        positions = columns.numbers(table, "position")
        shards = np.zeros(table.num_rows, np.int64)
        counts = (cut.num_shards for cut in self.splits.values())
        first = dict(zip(self.splits, itertools.accumulate(counts, initial=0), strict=False))
        for split, rows in columns.rows_by_split(table):
            shards[rows] = first[split] + self.splits[split].shards_of(positions[rows])
        return shards

    def shard_names(self) -> list[str]:
        """Return "<split>/<shard>" for every shard number."""
        return [
            f"{split}/{shard:05d}"
            for split, cut in self.splits.items()
            for shard in range(cut.num_shards)
        ]

    def first_number(self, split: str, shard: int) -> int | None:
        """Return the number of a shard's first record, counted over all splits in order.

        None if the records have ids of their own.
        """
        if not self.numbers_ids:
            return None
        before = itertools.takewhile(lambda name: name != split, self.splits)
        first = sum(self.splits[name].num_records for name in before)
        return first + self.splits[split].first_records[shard]


class Preview(NamedTuple):
    """Plan and statistics of a build that was not written."""

    plan: Plan
    statistics: Statistics

    def __repr__(self) -> str:
        splits = (f"{split.num_records:,} in {name}" for name, split in self.plan.splits.items())
        features = (feature.name for feature in self.plan.schema)
        return f"<Preview: {', '.join(splits) or 'no records'}; {', '.join(features)}>"


def make_plan(statistics: Statistics, config: BuildConfig) -> Plan:
    """Return the plan for the records counted in `statistics`."""
    try:
        _check_count(statistics)
        check_quality(statistics, config)
        divided = config.fractions if statistics.num_divided else ()
        check_split_names(statistics.stated_splits, divided)
        wanted = wanted_shards(config.num_shards, statistics.histograms)
        declared = declared_classes(statistics, config.classes, config.schema)
        features = statistics.features()
        schema = (
            complete(config.schema, features, declared)
            if config.schema
            else infer(features, num_records=statistics.num_records, declared=declared)
        )
        if not schema:
            raise DataError(
                f"no record of {statistics.num_records} found has a value, so there is nothing to "
                "write; check the input and --layout"
            )
        if config.image.depth_scale is not None:
            schema = with_depth_scale(schema, config.image.depth_scale)
        check_names(schema)
        uncounted = uncounted_bytes(schema, features)
        splits = {
            split: plan_split(
                statistics.histograms[split], num_shards, config.target_shard_bytes, uncounted
            )
            for split, num_shards in wanted.items()
        }
    except BeamTFRecordsError as problem:
        return Plan(splits={}, schema=(), numbers_ids=False, problem=problem)
    numbers_ids = statistics.num_ids < statistics.num_records
    return Plan(splits=splits, schema=schema, numbers_ids=numbers_ids, problem=None)


def _check_count(statistics: Statistics) -> None:
    """Raise CountMismatchError if records were lost or duplicated after Inspect."""
    arrived = statistics.num_records + statistics.rejected[DUPLICATE]
    inspected = statistics.num_inspected
    if inspected not in (0, arrived):
        raise CountMismatchError(
            f"{inspected} records were inspected, but {arrived} came to be placed; the runner "
            "lost or repeated some, so nothing is written: run the build again"
        )


def several_sample_rates(statistics: Statistics) -> dict[str, list[tuple[int, int]]]:
    """Return [(samples per second, records)] for each audio feature with several rates."""
    return {
        name: sorted(observed.sample_rates.items())
        for name, observed in statistics.features().items()
        if len(observed.sample_rates) > 1
    }


def missing_numbers(schema: Iterable[Feature], statistics: Statistics) -> dict[str, dict[str, int]]:
    """Return the number of values and of missing ones (NaN), by scalar with missing ones."""
    features = statistics.features()
    return {
        feature.name: {"values": observed.num_numbers, "missing": observed.nans}
        for feature in schema
        if feature.kind == "scalar"
        if (observed := features.get(feature.name)) and observed.nans
    }


def rounded_numbers(schema: Iterable[Feature], statistics: Statistics) -> dict[str, dict[str, Any]]:
    """Return count and example of values that change in float32, by affected feature."""
    features = statistics.features()
    return {
        feature.name: {
            "values": observed.num_numbers,
            "changed": observed.rounding.num_rounded,
            "example": observed.rounding.rounded,
        }
        for feature in schema
        if feature.dtype == "float32"
        if (observed := features.get(feature.name)) and observed.rounding.num_rounded
    }


def check_quality(statistics: Statistics, config: BuildConfig) -> None:
    """Raise DataError if the data is worse than the options allow."""
    if config.duplicates == "error" and statistics.duplicate_groups:
        first = statistics.duplicates[0][1]
        raise DataError(
            f"{statistics.duplicate_records} records share {statistics.duplicate_groups} contents, "
            f"such as {' and '.join(first.keys[:3])}; remove them, or pass --duplicates drop or "
            "keep"
        )
    if statistics.equal_keys:
        key, one, other = min(statistics.equal_keys)
        raise DataError(
            f"key {key!r} belongs to two records, {one or key} and {other or key}; a source must "
            "give every record its own key: where two annotation files list the same image, give "
            "only one of them, or pass --duplicates drop"
        )
    if config.leaks == "error" and statistics.across_splits:
        named = "; ".join(
            " and ".join(f"{key} ({split})" for split, key in splits) for splits in statistics.leaks
        )
        raise DataError(
            f"contents that are in more than one split: {statistics.across_splits:,}, such as "
            f"{named}; a model would be tested on what it was trained on: remove all but one of "
            "each, pass --duplicates drop, which keeps the first by key, or --leaks warn, which "
            "keeps all"
        )
    total = statistics.num_records + statistics.rejected.total()
    of_data = statistics.num_records + statistics.num_bad
    # Divided, not multiplied: 0.29 × 100 is a little less than 29.
    if statistics.num_bad and statistics.num_bad / of_data > config.max_bad_fraction:
        raise _too_bad(statistics, config, of_data)
    if not statistics.num_records:
        rejected = sorted(statistics.rejected.items(), key=lambda each: (-each[1], each[0]))
        reasons = ", ".join(f"{n} × {reason}" for reason, n in rejected[:3])
        raise DataError(
            f"no record is left to write of {total} found ({reasons or 'the input is empty'}); "
            "check the input and --layout"
        )
    _check_unread(statistics)


def _too_bad(statistics: Statistics, config: BuildConfig, of_data: int) -> DataError:
    """Return the error of too many bad records; few may be left out, but not a quarter."""
    num_bad, (source, reason, detail) = statistics.num_bad, statistics.first_rejects[0]
    limit = int(config.max_bad_fraction * of_data)
    found = (
        f"{num_bad} of {of_data} records invalid (limit: {limit}); first: {source}: {reason} "
        f"({detail})"
    )
    if option := leaving_out(num_bad, of_data):
        return DataError(f"{found}. Fix them, or pass {option}")
    return MostlyBadError(f"{found}. Fix them")


def _check_unread(statistics: Statistics) -> None:
    """Raise ConfigError if more files that may hold data are not read than there are records."""
    number = statistics.rejected[NOT_READ]
    if number > statistics.num_records:
        sources = statistics.first_sources[NOT_READ]
        facts = {
            "number": shown_text.counted(number, "file"),
            "first": sources[0],
            "records": shown_text.counted(statistics.num_records, "record"),
        }
        leave_out = files_to_ignore(dict.fromkeys(map(pattern_of, sources)))
        # A stage on a cluster hands over an error's class and message only.
        raise ConfigError(str(Problem(code="unread files", facts=facts, readings=(leave_out,))))


def declared_classes(
    statistics: Statistics, given: tuple[str, ...], schema: tuple[Feature, ...] = ()
) -> dict[str, tuple[str, ...]]:
    """Return ordered class names by feature: those `given` for one by the user, else the layout's.

    Raises:
        DataError: The layout's files assign one number to two names.
    """
    names: dict[str, tuple[str, ...]] = {}
    for feature, numbered in statistics.declared.items():
        for number, texts in numbered.items():
            if len(texts) > 1:
                raise DataError(
                    f"class {number} of {feature!r} is called {' and '.join(sorted(texts))} in "
                    "different annotation files; make the files agree"
                )
        # Two numbers with the same name are one class, at the lower number.
        names[feature] = tuple(dict.fromkeys(min(numbered[n]) for n in sorted(numbered)))
    if given:
        labelled = [each.name for each in schema if kinds.named(each).has_classes] or [
            name for name, observed in statistics.features().items() if _has_classes(name, observed)
        ]
        main = [name for name in labelled if name == "label"] or labelled
        if len(main) != 1:
            raise ConfigError(
                "--labels (or --classes) orders the classes of one feature, but the data has "
                f"{', '.join(labelled) or 'none'}; leave it out, or declare them with --schema"
            )
        names[main[0]] = given
    return names


def _has_classes(name: str, observed: Observed) -> bool:
    """Whether values are classes; numbers in existing Examples may be, depending on the key."""
    has_numbers = observed.lists is not None and observed.lists.has_classes
    return bool(observed.classes) or (has_numbers and is_label_key(name))
