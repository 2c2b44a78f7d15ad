"""Packs inspected elements before they leave their process: records, rejects, and counts.

No Beam here: worker processes import this module.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator

import pyarrow as pa

from beam_pipeline.assign import columns, likeness, placement
from beam_pipeline.assign.placement import SplitChooser, class_of
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.batch import field
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.inspect.batch import PackedBatch
from beam_pipeline.inspect.record import InspectedRows
from beam_pipeline.records import DeclaredClasses, Inspected, InspectedElement, Rejected, composed
from beam_pipeline.running.pickling import pack


@dataclasses.dataclass(frozen=True, slots=True)
class Packer:
    """Packs inspected elements of a build."""

    config: BuildConfig

    def pack(self, elements: Iterable[InspectedElement | InspectedRows]) -> PackedBatch:
        """Pack all elements of a batch."""
        statistics = Statistics()
        tables: list[pa.Table] = []
        rows: list[tuple[Inspected, str, int]] = []
        rejects: list[Rejected] = []
        for element in self._by_record(elements):
            match element:
                case InspectedRows():
                    tables.append(self._table_of_rows(element, statistics))
                case Inspected():
                    try:
                        split = self._split_of(element, statistics)
                    except RecordError as error:
                        rejects.append(Rejected.of(element.source or element.key, error))
                        continue
                    rows.append((element, split, placement.position(element.key, self.config.seed)))
                case Rejected():
                    rejects.append(element)
                case DeclaredClasses():
                    statistics.add_declared(element)
        if rows:
            tables.append(columns.table_of(rows))
            self._observe(rows, statistics)
        for reject in rejects:
            statistics.add_rejected(reject)
        statistics.num_inspected = sum(table.num_rows for table in tables)
        return PackedBatch(
            num_records=statistics.num_inspected,
            records=columns.to_bytes(columns.concatenated(tables)) if tables else b"",
            num_rejects=len(rejects),
            rejects=pack(rejects) if rejects else b"",
            statistics=statistics,
            looks=likeness.looks_of(rows) if self.config.near_duplicates else b"",
        )

    @property
    def _chooser(self) -> SplitChooser:
        return SplitChooser(self.config.fractions, self.config.seed)

    def _observe(self, rows: Iterable[tuple[Inspected, str, int]], statistics: Statistics) -> None:
        if self.config.observes_last:
            return
        by_split: defaultdict[str, list[Inspected]] = defaultdict(list)
        for record, split, _ in rows:
            by_split[split].append(record)
        for split, records in by_split.items():
            statistics.observe(records, split)

    def _by_record(
        self, elements: Iterable[InspectedElement | InspectedRows]
    ) -> Iterator[InspectedElement | InspectedRows]:
        """Convert rows to records if their splits depend on more than their contents."""
        is_plain = not (self.config.group_by or self.config.chooses_splits_last)
        for element in elements:
            if isinstance(element, InspectedRows) and not (is_plain and _has_no_split(element)):
                yield from element.records()
            else:
                yield element

    def _table_of_rows(self, rows: InspectedRows, statistics: Statistics) -> pa.Table:
        config = self.config
        splits = list(map(self._chooser.split_of, rows.content_digests))
        keys = field(rows.rows.table, "key")
        table = columns.table_of_rows(
            rows, splits, [placement.position(key, config.seed) for key in keys]
        )
        if not config.observes_last:
            statistics.observe_rows(rows.columns, table)
        return table

    def _split_of(self, record: Inspected, statistics: Statistics) -> str:
        """Return the record's split, or its place (`likeness.open_place`) if chosen last."""
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
            return self._chooser.split_of(group)
        if config.stratifies and (label := class_of(record)) is not None:
            statistics.strata.add(label, placement.split_hash(group, config.seed))
        return likeness.open_place(group)


def _has_no_split(rows: InspectedRows) -> bool:
    return not any(field(rows.rows.table, "split"))
