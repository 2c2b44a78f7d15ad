"""What the records are, taken together: one small value that merges, then becomes the plan."""

import dataclasses
import heapq
from collections import Counter
from collections.abc import Iterable, Mapping

import apache_beam as beam

from beam_pipeline.assign import placement
from beam_pipeline.assign.placement import SplitPlan
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import BeamTFRecordsError, ConfigError, DataError
from beam_pipeline.records import DeclaredClasses, Record, Rejected, reading_order
from beam_pipeline.schema.feature import Feature
from beam_pipeline.schema.inference import complete, infer, with_sequences_of_tokens
from beam_pipeline.schema.observation import Observed, observe_record

# Duplicates and rejects that are told by name; all are counted.
_TOLD = 100


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, order=True)
class DuplicateGroup:
    """Records of equal content.

    Attributes:
        keys: The first of their keys, sorted; the very first is the one that `drop` keeps.
        labels: Class names by key, where the records are not annotated alike; else empty.
        splits: The splits that those of them that are written fall into.
        num_records: How many they are.
    """

    keys: tuple[str, ...]
    labels: tuple[str, ...]
    splits: tuple[str, ...]
    num_records: int


@dataclasses.dataclass(slots=True, kw_only=True)
class Census:
    """Counts over some of the elements; `merge` adds those of others.

    Attributes:
        num_records: Records to be written.
        histograms: Per split: (records, bytes) by bin of positions.
        observed: What the values were, by feature name.
        declared: Class names by the layout's number, by feature.
        rejected: Rejects by reason.
        num_bad: Rejects that count towards `--max-bad-fraction`.
        told: The first rejects by source.
        notes: What was changed in records, and how often.
        duplicate_groups, duplicate_records: Contents met more than once; their records.
        conflicting, across_splits: Groups annotated unlike; groups in several splits.
        duplicates: The first groups by key, conflicting ones before others.
    """

    num_records: int = 0
    histograms: dict[str, dict[int, tuple[int, int]]] = dataclasses.field(default_factory=dict)
    observed: dict[str, Observed] = dataclasses.field(default_factory=dict)
    declared: dict[str, dict[int, set[str]]] = dataclasses.field(default_factory=dict)
    rejected: Counter[str] = dataclasses.field(default_factory=Counter)
    num_bad: int = 0
    told: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
    notes: Counter[str] = dataclasses.field(default_factory=Counter)
    duplicate_groups: int = 0
    duplicate_records: int = 0
    conflicting: int = 0
    across_splits: int = 0
    duplicates: list[tuple[bool, DuplicateGroup]] = dataclasses.field(default_factory=list)

    def add_record(self, record: Record, bin_: int) -> None:
        """Counts a record of known split whose position falls into `bin_`."""
        assert record.split is not None
        self.num_records += 1
        histogram = self.histograms.setdefault(record.split, {})
        records, num_bytes = histogram.get(bin_, (0, 0))
        histogram[bin_] = (records + 1, num_bytes + record.num_bytes)
        if record.notes:
            self.notes.update(record.notes)
        observe_record(record, self.observed)

    def add_rejected(self, rejected: Rejected) -> None:
        """Counts a reject."""
        self.rejected[rejected.reason] += 1
        if rejected.bad:
            self.num_bad += 1
            self.told.append((rejected.source, rejected.reason, rejected.detail))

    def add_declared(self, declared: DeclaredClasses) -> None:
        """Takes the classes of one file of the layout."""
        for number, name in declared.names.items():
            self.declared.setdefault(declared.feature, {}).setdefault(number, set()).add(name)

    def add_duplicates(self, group: DuplicateGroup) -> None:
        """Counts a content met more than once."""
        self.duplicate_groups += 1
        self.duplicate_records += group.num_records
        self.conflicting += bool(group.labels)
        self.across_splits += len(group.splits) > 1
        self.duplicates.append((not group.labels, group))

    def merge(self, other: "Census") -> None:
        """Adds what `other` counted."""
        self.num_records += other.num_records
        for split, histogram in other.histograms.items():
            mine = self.histograms.setdefault(split, {})
            for bin_, (records, num_bytes) in histogram.items():
                seen = mine.get(bin_, (0, 0))
                mine[bin_] = (seen[0] + records, seen[1] + num_bytes)
        for name, observed in other.observed.items():
            self.observed.setdefault(name, Observed()).merge(observed)
        for feature, names in other.declared.items():
            for number, texts in names.items():
                self.declared.setdefault(feature, {}).setdefault(number, set()).update(texts)
        self.rejected.update(other.rejected)
        self.notes.update(other.notes)
        for count in (
            "num_bad",
            "duplicate_groups",
            "duplicate_records",
            "conflicting",
            "across_splits",
        ):
            setattr(self, count, getattr(self, count) + getattr(other, count))
        self.told = heapq.nsmallest(
            _TOLD, self.told + other.told, key=lambda each: (reading_order(each[0]), *each)
        )
        self.duplicates = heapq.nsmallest(_TOLD, self.duplicates + other.duplicates)


class MergeCensus(beam.CombineFn):
    """Census values to their sum."""

    def create_accumulator(self) -> Census:
        return Census()

    def add_input(self, accumulator: Census, element: Census) -> Census:
        accumulator.merge(element)
        return accumulator

    def merge_accumulators(self, accumulators: Iterable[Census]) -> Census:
        merged = Census()
        for accumulator in accumulators:
            merged.merge(accumulator)
        return merged

    def extract_output(self, accumulator: Census) -> Census:
        return accumulator


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that is known before the first byte is written.

    Attributes:
        census: The counts it was made from.
        splits: How each split is cut, splits in the order of their names.
        schema: The features of the records.
        problem: Why nothing may be written; None when all is well.
    """

    census: Census
    splits: Mapping[str, SplitPlan]
    schema: tuple[Feature, ...]
    problem: BeamTFRecordsError | None

    @property
    def rounded(self) -> dict[str, float]:
        """By feature stored as float32 the smallest number that is rounded, if there is any."""
        return {
            feature.name: seen.rounded
            for feature in self.schema
            if feature.kind in ("scalar", "tensor", "sequence") and feature.dtype == "float32"
            if (seen := self.census.observed.get(feature.name)) and seen.rounded is not None
        }


def make_plan(census: Census, config: BuildConfig) -> Plan:
    """The plan for the records that `census` counted."""
    try:
        _check_quality(census, config)
        wanted = placement.wanted_shards(config.num_shards, sorted(census.histograms))
        splits = {
            split: placement.plan_split(
                census.histograms[split], wanted[split], config.target_shard_bytes
            )
            for split in wanted
        }
        declared = declared_classes(census, config.classes, config.schema)
        schema = (
            complete(config.schema, census.observed, declared)
            if config.schema
            else infer(census.observed, num_records=census.num_records, declared=declared)
        )
        if config.tokenizer:
            schema = with_sequences_of_tokens(schema)
    except BeamTFRecordsError as problem:
        return Plan(census=census, splits={}, schema=(), problem=problem)
    return Plan(census=census, splits=splits, schema=schema, problem=None)


def _check_quality(census: Census, config: BuildConfig) -> None:
    """Raises DataError where the data is worse than the options allow."""
    if config.duplicates == "error" and census.duplicate_groups:
        first = census.duplicates[0][1]
        raise DataError(
            f"{census.duplicate_records} records share {census.duplicate_groups} contents, such as "
            f"{' and '.join(first.keys[:3])}; remove them, or pass --duplicates drop or keep"
        )
    total = census.num_records + census.rejected.total()
    of_data = census.num_records + census.num_bad
    # Divided, not multiplied: 0.29 × 100 is a little less than 29.
    if census.num_bad and census.num_bad / of_data > config.max_bad_fraction:
        source, reason, detail = census.told[0]
        raise DataError(
            f"{census.num_bad} of {of_data} records are bad, where --max-bad-fraction allows "
            f"{config.max_bad_fraction:g} of them; the first is {source}: {reason} ({detail}). "
            "Mend or remove them, or allow a larger fraction"
        )
    if not census.num_records:
        reasons = ", ".join(f"{n} × {reason}" for reason, n in census.rejected.most_common(3))
        raise DataError(
            f"no record is left to write of {total} found ({reasons or 'the input is empty'}); "
            "check the input and --layout"
        )


def declared_classes(
    census: Census, given: tuple[str, ...], schema: tuple[Feature, ...] = ()
) -> dict[str, tuple[str, ...]]:
    """Class names in order by feature: those given by the user, else by the layout.

    Args:
        census: What was seen.
        given: The names that the user gives for the classes of one feature.
        schema: What the user declares of the features, if anything.

    Raises:
        DataError: The layout's files give one number to two names.
    """
    names: dict[str, tuple[str, ...]] = {}
    for feature, numbered in census.declared.items():
        for number, texts in numbered.items():
            if len(texts) > 1:
                raise DataError(
                    f"class {number} of {feature!r} is called {' and '.join(sorted(texts))} in "
                    "different annotation files; make the files agree"
                )
        # Two numbers with one name are one class, at its first number.
        names[feature] = tuple(dict.fromkeys(min(numbered[n]) for n in sorted(numbered)))
    if given:
        labelled = [each.name for each in schema if each.kind in ("class_label", "boxes")] or [
            name for name, seen in census.observed.items() if seen.classes
        ]
        main = [name for name in labelled if name == "label"] or labelled
        if len(main) != 1:
            raise ConfigError(
                "--labels (or --classes) orders the classes of one feature, but the data has "
                f"{', '.join(labelled) or 'none'}; leave it out, or declare them by --schema"
            )
        names[main[0]] = given
    return names
