"""Packs inspected elements before they leave their process: records, rejects, and counts.

No Beam here: worker processes import this module.
"""

import dataclasses
from collections.abc import Iterable

import pyarrow as pa

from beam_pipeline.assign import columns, likeness, placement
from beam_pipeline.assign.placement import SplitChooser, class_of
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.batch import Examples
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.inspect.inspect_batch import Other, PackedBatch
from beam_pipeline.records import DeclaredClasses, Rejected, composed
from beam_pipeline.running.pickling import Parcel, pack


@dataclasses.dataclass(frozen=True, slots=True)
class Packer:
    """Packs inspected elements of a build."""

    config: BuildConfig

    def pack(self, elements: Iterable[Examples | Other]) -> PackedBatch:
        """Pack all elements of a batch."""
        statistics = Statistics()
        tables: list[pa.Table] = []
        looks: list[pa.Table] = []
        rejects: list[Rejected] = []
        for element in elements:
            match element:
                case Examples():
                    placed, splits = self._in_splits(element, statistics, rejects)
                    if not splits:
                        continue
                    positions = [
                        placement.position(key, self.config.seed) for key in placed.fields["key"]
                    ]
                    tables.append(columns.table_of(placed, splits, positions))
                    if not self.config.observes_last:
                        statistics.observe(placed, splits)
                    if self.config.near_duplicates:
                        looks.append(likeness.looks_of(placed, splits))
                case Rejected():
                    rejects.append(element)
                case DeclaredClasses():
                    statistics.add_declared(element)
        for reject in rejects:
            statistics.add_rejected(reject)
        statistics.num_inspected = sum(table.num_rows for table in tables)
        return PackedBatch(
            num_records=statistics.num_inspected,
            records=columns.to_bytes(columns.concatenated(tables)) if tables else b"",
            num_rejects=len(rejects),
            rejects=pack(rejects) if rejects else b"",
            statistics=Parcel(statistics),
            looks=columns.to_bytes(columns.concatenated(looks)) if looks else b"",
        )

    def _in_splits(
        self, examples: Examples, statistics: Statistics, rejects: list[Rejected]
    ) -> tuple[Examples, list[str]]:
        """Return (examples, their splits); those that cannot have one are rejected."""
        config, chooser = self.config, SplitChooser(self.config.fractions, self.config.seed)
        if not (config.group_by or config.chooses_splits_last) and not any(
            map(any, (examples.field("split"), examples.field("group")))
        ):
            return examples, list(map(chooser.split_of, examples.fields["content_digest"]))
        rows, splits = [], []
        for row, stated in enumerate(examples.field("split")):
            try:
                splits.append(self._split_of(examples, row, stated, chooser, statistics))
                rows.append(row)
            except RecordError as error:
                rejects.append(Rejected.of(examples.sources[row], error))
        return examples.taken(rows), splits

    def _split_of(
        self,
        examples: Examples,
        row: int,
        stated: str | None,
        chooser: SplitChooser,
        statistics: Statistics,
    ) -> str:
        """Return the example's split, or its place (`likeness.open_place`) if chosen last."""
        config = self.config
        if name := placement.split_name(stated):
            statistics.stated_splits.setdefault(name, set()).add(composed(stated or ""))
            statistics.num_stated += 1
            if not (config.divides_train and name == "train"):
                return name
            statistics.num_divided += 1
        group = placement.group_of(examples, row, config.group_by)
        if not config.chooses_splits_last:
            return chooser.split_of(group)
        if config.stratifies and (label := class_of(examples.row(row))) is not None:
            statistics.strata.add(label, placement.split_hash(group, config.seed))
        return likeness.open_place(group)
