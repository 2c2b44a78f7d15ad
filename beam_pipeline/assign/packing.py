"""Inspected elements leave their process packed: records as columns, rejects, and counts.

No Beam here: worker processes import this module.
"""

import dataclasses
from collections.abc import Iterable, Mapping

from beam_pipeline.assign import columns, likeness, placement
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.inspect.batch import PackedBatch
from beam_pipeline.records import DeclaredClasses, Inspected, InspectedElement, Rejected, composed
from beam_pipeline.running.pickling import pack


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Packer:
    """Packs inspected elements.

    Attributes:
        fractions: Fraction by split name, for records whose layout states no split.
        group_by: As BuildConfig has it.
        seed: Salt of the hashes that decide split and order.
        observes: Whether every record will be written, so that its values count already.
        near_duplicates: As BuildConfig has it.
    """

    fractions: Mapping[str, float]
    group_by: str
    seed: int
    observes: bool
    near_duplicates: str = ""

    @classmethod
    def of(cls, config: BuildConfig) -> "Packer":
        """The packer that `config` asks for."""
        return cls(
            fractions=config.split,
            group_by=config.group_by,
            seed=config.seed,
            observes=not config.observes_last,
            near_duplicates=config.near_duplicates,
        )

    def pack(self, elements: Iterable[InspectedElement]) -> PackedBatch:
        """All elements of a batch, packed."""
        statistics = Statistics()
        rows: list[tuple[Inspected, str, int]] = []
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
                    rows.append((element, split, placement.position(element.key, self.seed)))
                    if self.observes:
                        statistics.observe(element, split)
                case Rejected():
                    rejects.append(element)
                case DeclaredClasses():
                    statistics.add_declared(element)
        for reject in rejects:
            statistics.add_rejected(reject)
        statistics.num_inspected = len(rows)
        return PackedBatch(
            num_records=len(rows),
            records=columns.to_bytes(columns.table_of(rows)) if rows else b"",
            num_rejects=len(rejects),
            rejects=pack(rejects) if rejects else b"",
            statistics=statistics,
            looks=likeness.looks_of(rows) if self.near_duplicates else b"",
        )

    def _split_of(self, record: Inspected, statistics: Statistics) -> str:
        if name := placement.split_name(record.split):
            stated = composed(record.split or "")
            statistics.stated_splits.setdefault(name, set()).add(stated)
            statistics.num_stated += 1
            return name
        group = placement.group_of(record, self.group_by)
        if self.near_duplicates == "group":
            return likeness.open_place(group)
        return placement.choose_split(group, self.fractions, self.seed)
