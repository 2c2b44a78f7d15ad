"""One Example, held against the schema, and what it states of its media against the media.

No Beam here: worker processes import this module.
"""

from collections.abc import Iterable, Iterator

from beam_pipeline import kinds
from beam_pipeline.describe import tfds
from beam_pipeline.records import Inspected
from beam_pipeline.schema.conformance import Specs, mismatches
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import Lists


def stored_keys(features: Iterable[Feature]) -> frozenset[str]:
    """The keys that every Example written by this project has: those in features.json."""
    written = (feature for feature in features if not feature.bare)
    return frozenset(key for feature in written for key in tfds.leaves(feature))


def example_causes(example: Lists, specs: Specs, keys: frozenset[str]) -> Iterator[str]:
    """Why an Example is not as the schema says.

    Args:
        example: Its lists.
        specs: What the keys of the schema must hold.
        keys: `stored_keys` of the schema.
    """
    if missing := sorted(keys - example.keys()):
        yield f"the Example lacks {', '.join(missing)}"
    else:
        yield from mismatches(specs, example)


def media_causes(example: Lists, features: Iterable[Feature], record: Inspected) -> Iterator[str]:
    """Why images and audio are not what the Example, which is as the schema says, states of them.

    Args:
        example: Its lists.
        features: The schema.
        record: The `stored_record` of it.
    """
    for feature in features:
        value = record.features.get(feature.name)
        if value is not None:
            yield from kinds.named(feature).differences(feature, example, value)
