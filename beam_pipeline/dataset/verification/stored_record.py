"""Checks one Example against the schema.

No Beam here: worker processes import this module.
"""

from collections.abc import Iterator, Sequence

from beam_pipeline import kinds
from beam_pipeline.describe import tfds
from beam_pipeline.schema.conformance import mismatches, schema_specs
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists


class ExampleChecker:
    """Check Examples, as lists by key, against a schema."""

    def __init__(self, schema: Sequence[Feature]):
        self._kinds = [(feature, kinds.named(feature)) for feature in schema]
        self._specs = schema_specs(schema)
        # Keys in features.json, which every Example by this project has.
        written = (feature for feature in schema if not feature.bare)
        self._keys = frozenset(key for each in written for key in tfds.leaves(each))

    def causes(self, example: Lists) -> Iterator[str]:
        """Yield the reasons why an Example does not fit the schema."""
        if missing := sorted(self._keys - example.keys()):
            yield f"the Example lacks {', '.join(missing)}"
        else:
            yield from mismatches(self._specs, example)

    def media_causes(self, example: Lists) -> Iterator[str]:
        """Yield differences between the images and audio of a fitting Example and its facts.

        Raises:
            RecordError: An image or audio is damaged.
        """
        for feature, kind in self._kinds:
            if feature.key in example:
                yield from kind.differences(feature, example)
