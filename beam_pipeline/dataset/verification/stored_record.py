"""Checks one Example against the schema, and restores its record as far as possible.

This inverts `write.encoding`, so the functions that made the index and the statistics can make
them again for comparison. No Beam here: worker processes import this module.
"""

from collections.abc import Iterator, Sequence

from beam_pipeline import kinds
from beam_pipeline.dataset.opening import Dataset
from beam_pipeline.describe import index, tfds
from beam_pipeline.kinds.example_lists import text
from beam_pipeline.records import Inspected
from beam_pipeline.schema.conformance import mismatches, schema_specs
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists

_MEDIA = ("image", "audio")


class ExampleReader:
    """Check Examples, as lists by key, against a schema, and restore records of those that fit.

    Args:
        existing: Whether the input records were already Examples.
    """

    def __init__(self, schema: Sequence[Feature], existing: bool):
        self._reads = []
        for each in schema:
            kind = kinds.named(each)
            self._reads.append((each, kind.read_existing if existing or each.bare else kind.read))
        images = [] if existing else [each for each in schema if _has_key(each)]
        self._key = images[0].subkey("filename") if images else ""
        self._specs = schema_specs(schema)
        # Keys in features.json, which every Example by this project has.
        written = (each for each in schema if not each.bare)
        self._keys = frozenset(key for each in written for key in tfds.leaves(each))

    def causes(self, example: Lists) -> Iterator[str]:
        """Yield the reasons why an Example does not fit the schema."""
        if missing := sorted(self._keys - example.keys()):
            yield f"the Example lacks {', '.join(missing)}"
        else:
            yield from mismatches(self._specs, example)

    def record(self, example: Lists, key: str) -> Inspected:
        """Restore the record from an Example that fits the schema.

        Args:
            key: Key for a record that stores none.

        Raises:
            RecordError: Stored audio or an image is damaged.
        """
        features = {
            feature.name: value
            for feature, read in self._reads
            if (value := read(feature, example)) is not None
        }
        return Inspected(key=text(example, self._key) if self._key else key, features=features)

    def media_causes(self, example: Lists, record: Inspected) -> Iterator[str]:
        """Yield differences between the images and audio of a `record` and its Example's facts."""
        for feature, _ in self._reads:
            value = record.features.get(feature.name)
            if value is not None:
                yield from kinds.named(feature).differences(feature, example, value)


def followed_columns(info: Dataset) -> list[str]:
    """Index columns that depend only on the Examples.

    The others depend on the input: the place of a record's description, and its files before they
    were converted.
    """
    schema, existing = info.schema, info.holds_existing_examples
    unknown = set() if info.is_adopted else {"source"}
    if not info.is_adopted and (existing or not any(map(_has_key, schema))):
        unknown.add("key")
    for feature in schema:
        converted = f"{feature.kind} converted"
        if feature.kind in ("tensor", "sequence") or (
            feature.kind in _MEDIA
            and any(change.startswith(converted) for change in info.metadata["changes"])
        ):
            unknown.add(index.fact_column(feature, "sha256"))
        if feature.bare and not existing:  # a declared feature of records that were not Examples
            unknown |= {"labels", index.fact_column(feature, "length")}
    return [name for name in index.arrow_schema(schema).names if name not in unknown]


def _has_key(feature: Feature) -> bool:
    """Whether a feature stores the record's key."""
    return feature.kind == "image" and not feature.bare
