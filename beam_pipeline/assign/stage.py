"""Assign: duplicates are found, every record gets its split and shard, and the plan is made."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindows
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline.assign import placement
from beam_pipeline.assign.census import Census, DuplicateGroup, MergeCensus, Plan, make_plan
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.inspect.digest import annotation
from beam_pipeline.records import DeclaredClasses, Element, Record, Rejected, unpack
from beam_pipeline.running.batches import KeyedBatches

# Records of one content that are told by name; all are counted.
_KEYS_TOLD = 10


class Assigned(NamedTuple):
    """What Assign yields.

    Attributes:
        placed: PCollection[tuple[str, bytes]]: "<split>/<shard>" and a packed batch of records.
        rejected: PCollection[tuple[str, bytes]]: "" and a packed batch of Rejected.
        plan: PCollection[Plan], of one element.
    """

    placed: beam.PCollection[tuple[str, bytes]]
    rejected: beam.PCollection[tuple[str, bytes]]
    plan: beam.PCollection[Plan]


@dataclasses.dataclass
class AssignShards(beam.PTransform):
    """Lists of inspected elements to `Assigned`."""

    config: BuildConfig

    @no_annotations  # Beam takes hints of PCollections alone
    def expand(self, batches: beam.PCollection[list[Element]]) -> Assigned:
        settled = (
            batches
            | "KeyByContent"
            >> beam.ParDo(_KeyByContent()).with_output_types(
                tuple[str, bytes]
            )  # (content's prefix, batch)
            | "GroupByContent" >> beam.GroupByKey()
            | "SettleDuplicates"
            >> beam.ParDo(_SettleDuplicates(self.config)).with_outputs(
                _SettleDuplicates.CENSUS, main="batches"
            )
        )
        plan = (
            settled[_SettleDuplicates.CENSUS]  # Census
            | "MergeCensus" >> beam.CombineGlobally(MergeCensus())  # Census, one
            | "MakePlan" >> beam.Map(make_plan, self.config)  # Plan, one
        )
        outputs = settled["batches"] | "Place" >> beam.ParDo(
            _Place(self.config.seed), plan=beam.pvalue.AsSingleton(plan)
        ).with_output_types(tuple[str, bytes]).with_outputs(_Place.REJECTED, main="placed")
        return Assigned(placed=outputs["placed"], rejected=outputs[_Place.REJECTED], plan=plan)


def content_bucket(element: Element) -> str:
    """Which of 256 groups an element goes through the search for duplicates with."""
    match element:
        case Record():
            return element.content[:2]
        case Rejected():
            return f"{placement.position(element.source, 0) >> 56:02x}"
        case DeclaredClasses():
            return "00"


class _KeyByContent(beam.DoFn):
    def start_bundle(self) -> None:
        self._batches = KeyedBatches(content_bucket)

    def process(self, elements: list[Element]) -> Iterator[tuple[str, bytes]]:
        for element in elements:
            yield from self._batches.add(element)

    def finish_bundle(self) -> Iterator[Any]:
        for keyed in self._batches.flush():
            yield GlobalWindows.windowed_value(keyed)


def settle(
    elements: Iterable[Element], config: BuildConfig, census: Census
) -> Iterator[Record | Rejected]:
    """The records that stay, with their splits, and the rejects; `census` counts everything.

    Args:
        elements: All elements of a set of contents: records of equal content are together.
    """
    by_content: dict[str, list[Record]] = {}
    for element in elements:
        match element:
            case Record():
                try:
                    group = placement.group_of(element, config.group_by)
                except RecordError as error:
                    source = element.source or element.key
                    rejected = Rejected(source=source, reason=error.reason, detail=error.detail)
                    census.add_rejected(rejected)
                    yield rejected
                    continue
                split = placement.split_name(element.split) or placement.choose_split(
                    group, config.split, config.seed
                )
                if split != element.split:
                    element = dataclasses.replace(element, split=split)
                by_content.setdefault(element.content, []).append(element)
            case Rejected():
                census.add_rejected(element)
                yield element
            case DeclaredClasses():
                census.add_declared(element)
    for records in by_content.values():
        for settled in _settle_content(records, config.duplicates, census):
            if isinstance(settled, Record):
                bin_ = placement.bin_of(placement.position(settled.key, config.seed))
                census.add_record(settled, bin_)
            else:
                census.add_rejected(settled)
            yield settled


def _settle_content(
    records: list[Record], policy: str, census: Census
) -> Iterator[Record | Rejected]:
    """The records of one content, less those that `policy` drops."""
    if len(records) == 1:
        yield from records
        return
    records.sort(key=lambda record: (record.key, record.source, annotation(record)))
    conflict = len({annotation(record) for record in records}) > 1
    written = records[:1] if policy == "drop" else records
    census.add_duplicates(
        DuplicateGroup(
            keys=tuple(record.key for record in records[:_KEYS_TOLD]),
            labels=tuple(map(placement.label_text, records[:_KEYS_TOLD])) if conflict else (),
            splits=tuple(sorted({record.split or "" for record in written})),
            num_records=len(records),
        )
    )
    kept, *others = records
    yield kept
    for record in others:
        if policy == "drop":
            yield Rejected(
                source=record.source or record.key,
                reason="duplicate",
                detail=f"same content as {kept.key}"
                + (f", annotated otherwise ({placement.label_text(kept)})" if conflict else ""),
                bad=False,
            )
        else:
            yield record


class _SettleDuplicates(beam.DoFn):
    CENSUS = "census"

    def __init__(self, config: BuildConfig):
        self._config = config

    def start_bundle(self) -> None:
        self._census = Census()

    def process(self, keyed: tuple[str, Iterable[bytes]]) -> Iterator[Any]:
        elements = (element for batch in keyed[1] for element in unpack(batch))
        batches = KeyedBatches(lambda _: "")
        for settled in settle(elements, self._config, self._census):
            for _, batch in batches.add(settled):
                yield batch
        for _, batch in batches.flush():
            yield batch

    def finish_bundle(self) -> Iterator[Any]:
        census = GlobalWindows.windowed_value(self._census)
        yield beam.pvalue.TaggedOutput(self.CENSUS, census)


def shard_key(element: Element, plan: Plan, seed: int) -> str:
    """ "<split>/<shard>" of a record, "" of a reject."""
    if not isinstance(element, Record):
        return ""
    assert element.split is not None
    shard = plan.splits[element.split].shard_of(placement.position(element.key, seed))
    return f"{element.split}/{shard:05d}"


class _Place(beam.DoFn):
    REJECTED = "rejected"

    def __init__(self, seed: int):
        self._seed = seed

    def start_bundle(self) -> None:
        self._batches: KeyedBatches | None = None

    def process(self, batch: bytes, plan: Plan) -> Iterator[Any]:
        if self._batches is None:
            self._batches = KeyedBatches(functools.partial(shard_key, plan=plan, seed=self._seed))
        for element in unpack(batch):
            if isinstance(element, Record) and plan.problem:
                continue  # nothing is written
            for keyed in self._batches.add(element):
                yield keyed if keyed[0] else beam.pvalue.TaggedOutput(self.REJECTED, keyed)

    def finish_bundle(self) -> Iterator[Any]:
        for keyed in self._batches.flush() if self._batches else ():
            windowed = GlobalWindows.windowed_value(keyed)
            yield windowed if keyed[0] else beam.pvalue.TaggedOutput(self.REJECTED, windowed)
