"""Description of a dataset without its values."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tfrecord_dataset.errors import ConfigError, UnknownNameError
from tfrecord_dataset.format.feature import Feature, class_names, shape_text
from tfrecord_dataset.page import rendered
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.records.split import Split
from tfrecord_dataset.shown_text import one_line


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Contents:
    """Description of a dataset: features, splits, numbers of records and statistics.

    Attributes:
        path: Path for messages.
        features: Features by name.
        splits: Splits by name: `"train" in dataset.splits`, `list(dataset.splits)`.
        fingerprint: Identifies the content, from metadata.json; empty without metadata.
        group_by: Column, or level of the key, each of whose values is in one split; or "".
        notes: Messages about bare files.
        remedy: Advice for a record that does not fit the features.
        read_statistics: Returns statistics.json by split and feature; empty without the file.
    """

    path: str
    features: Mapping[str, Feature]
    splits: Mapping[str, Split]
    fingerprint: str = ""
    group_by: str = ""
    notes: tuple[str, ...] = ()
    remedy: str = "run `beam-tfrecords verify` on the dataset"
    read_statistics: Callable[[], Mapping[str, Mapping[str, Any]]] = dataclasses.field(
        default=dict, repr=False, compare=False
    )

    def __repr__(self) -> str:
        """Short form for debuggers and consoles."""
        splits = ", ".join(f"{count} in {name}" for name, count in self._counts())
        said = f"{self.path}: {splits or 'no records'}; {', '.join(self.features)}"
        return f"<{type(self).__name__} {one_line(said)}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        return as_html(self.path, self._counts(), self.features.values())

    def _counts(self) -> list[tuple[str, str]]:
        """Return splits with their numbers of records as texts, if known."""
        return [
            (name, "?" if split.num_records is None else f"{split.num_records:,}")
            for name, split in self.splits.items()
        ]

    @property
    def classes(self) -> list[str]:
        """Class names by number: those of the class label, else of the boxes."""
        return class_names(self.features.values())

    def split(self, name: str | None = None) -> Split:
        """Return the split named `name`, or the only one.

        Raises:
            UnknownNameError: The split does not exist.
            ConfigError: There are several splits, and `name` is None.
        """
        if name is None:
            if len(self.splits) != 1:
                several = "several splits; name one of: " if self.splits else "no splits"
                raise ConfigError(f"{self.path} has {several}{', '.join(self.splits)}")
            [name] = self.splits
        if name not in self.splits:
            raise UnknownNameError("split", name, self.splits, self.path)
        return self.splits[name]

    def num_records(self, split: str | None = None) -> int:
        """Return the number of records of a split; files without metadata are counted once."""
        return self.split(split).counted

    def index(self, split: str | None = None) -> RecordIndex:
        """Return the record index of a split; frames of bare files are scanned once.

        Raises:
            DatasetDamagedError: The shards do not match metadata.json or their .idx files.
        """
        return self.split(split).index()

    def statistics(self, split: str | None = None) -> Mapping[str, Mapping[str, Any]]:
        """Return a split's statistics.json by feature (docs/format.md); empty without the file."""
        return self.read_statistics().get(self.split(split).name, {})


def as_html(path: str, counts: list[tuple[str, str]], features: Iterable[Feature]) -> str:
    """Render a dataset as a table of splits and one of features."""
    forms = [(feature.name, _form(feature)) for feature in features]
    tables = {("split", "records"): counts, ("feature", "form"): forms}
    facts = {"path": path, "tables": tables}
    return rendered(Path(__file__).parents[1] / "page", "contents.html.j2", facts)


def _form(feature: Feature) -> str:
    """Describe a feature's values in a few words: "image uint8 [32, 32, 3]"."""
    shape = shape_text(feature) if feature.shape else ""
    classes = f"of {len(feature.classes):,} classes" if feature.classes else ""
    return " ".join(filter(None, (feature.kind, feature.dtype, shape, classes)))
