"""One Example, held against the schema; and the record that it was made of, as far as it tells.

That is what `write.encoding` turns into an Example, taken back; so the rows of an index and the
statistics follow from it by the functions that made them. No Beam here: worker processes import
this module.
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
    """Holds Examples, as lists by key, against a schema; makes records of those that conform.

    Args:
        schema: The dataset's features.
        existing: Whether the records were Examples already.
    """

    def __init__(self, schema: Sequence[Feature], existing: bool):
        self._reads = []
        for each in schema:
            kind = kinds.named(each)
            self._reads.append((each, kind.read_existing if existing or each.bare else kind.read))
        images = [] if existing else [each for each in schema if _has_key(each)]
        self._key = images[0].key_beside("filename") if images else ""
        self._specs = schema_specs(schema)
        # Those in features.json, which every Example written by this project has.
        written = (each for each in schema if not each.bare)
        self._keys = frozenset(key for each in written for key in tfds.leaves(each))

    def causes(self, example: Lists) -> Iterator[str]:
        """Why an Example is not as the schema says."""
        if missing := sorted(self._keys - example.keys()):
            yield f"the Example lacks {', '.join(missing)}"
        else:
            yield from mismatches(self._specs, example)

    def record(self, example: Lists, key: str) -> Inspected:
        """The record that is stored as an Example, which is as the schema says.

        Args:
            example: Its lists.
            key: Of a record that states none.

        Raises:
            RecordError: Audio or an image in it is damaged.
        """
        features = {
            feature.name: value
            for feature, read in self._reads
            if (value := read(feature, example)) is not None
        }
        return Inspected(key=text(example, self._key) if self._key else key, features=features)

    def media_causes(self, example: Lists, record: Inspected) -> Iterator[str]:
        """Why images and audio of its `record` are not what an Example states of them."""
        for feature, _ in self._reads:
            value = record.features.get(feature.name)
            if value is not None:
                yield from kinds.named(feature).differences(feature, example, value)


def followed_columns(info: Dataset) -> list[str]:
    """The columns of the index that follow from the Examples.

    The others tell of the input: where a record was described, and what its files were before
    they were converted.
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
        if feature.bare and not existing:  # declared so for records that were no Examples
            unknown |= {"labels", index.fact_column(feature, "length")}
    return [name for name in index.arrow_schema(schema).names if name not in unknown]


def _has_key(feature: Feature) -> bool:
    """Whether the record's key is stored with the feature."""
    return feature.kind == "image" and not feature.bare
