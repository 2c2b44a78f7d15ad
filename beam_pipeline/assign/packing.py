"""Inspected elements leave their process packed: records as columns, rejects, and counts.

No Beam here: worker processes import this module.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable

from beam_pipeline.assign import columns, likeness, placement
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.assign.stratification import class_of
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.inspect.batch import PackedBatch
from beam_pipeline.records import DeclaredClasses, Inspected, InspectedElement, Rejected, composed
from beam_pipeline.running.pickling import pack


@dataclasses.dataclass(frozen=True, slots=True)
class Packer:
    """Packs inspected elements of a build.

    Attributes:
        config: The build's.
    """

    config: BuildConfig

    def pack(self, elements: Iterable[InspectedElement]) -> PackedBatch:
        """All elements of a batch, packed."""
        statistics = Statistics()
        rows: list[tuple[Inspected, str, int]] = []
        by_split: defaultdict[str, list[Inspected]] = defaultdict(list)
        rejects: list[Rejected] = []
        for element in elements:
            match element:
                case Inspected():
                    try:
                        split = self._split_of(element, statistics)
                    except RecordError as error:
                        source = element.source or element.key
                        rejects.append(Rejected.of(source, error))
                        continue
                    rows.append((element, split, placement.position(element.key, self.config.seed)))
                    by_split[split].append(element)
                case Rejected():
                    rejects.append(element)
                case DeclaredClasses():
                    statistics.add_declared(element)
        if not self.config.observes_last:
            for split, records in by_split.items():
                statistics.observe(records, split)
        for reject in rejects:
            statistics.add_rejected(reject)
        statistics.num_inspected = len(rows)
        return PackedBatch(
            num_records=len(rows),
            records=columns.to_bytes(columns.table_of(rows)) if rows else b"",
            num_rejects=len(rejects),
            rejects=pack(rejects) if rejects else b"",
            statistics=statistics,
            looks=likeness.looks_of(rows) if self.config.near_duplicates else b"",
        )

    def _split_of(self, record: Inspected, statistics: Statistics) -> str:
        """The record's split, or its place until all records are known (`likeness.open_place`)."""
        config = self.config
        if name := placement.split_name(record.split):
            stated = composed(record.split or "")
            statistics.stated_splits.setdefault(name, set()).add(stated)
            statistics.num_stated += 1
            if not (config.divides_train and name == "train"):
                return name
            statistics.num_divided += 1
        group = placement.group_of(record, config.group_by)
        if not config.chooses_splits_last:
            return placement.choose_split(group, config.fractions, config.seed)
        if config.stratifies and (label := class_of(record)) is not None:
            statistics.strata.add(label, placement.split_hash(group, config.seed))
        return likeness.open_place(group)
