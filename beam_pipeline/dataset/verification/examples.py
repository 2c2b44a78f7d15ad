"""One Example, held against the schema, and what it states of its media against the media.

No Beam here: worker processes import this module.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from beam_pipeline.describe import tfds
from beam_pipeline.records import Audio, Image, ListSummary, Record
from beam_pipeline.schema.stored_conformance import Lists, Specs, mismatches, size_problem
from tfrecord_dataset.feature import Feature


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


def media_causes(example: Lists, features: Iterable[Feature], record: Record) -> Iterator[str]:
    """Why images and audio are not what the Example, which is as the schema says, states of them.

    Args:
        example: Its lists.
        features: The schema.
        record: The `stored_record` of it.
    """
    for feature in features:
        match record.features.get(feature.name):
            case Image() if not feature.bare:
                yield from _image_causes(feature, example)
            case Audio() as audio:
                yield from _audio_causes(feature, example, audio)


def _image_causes(feature: Feature, example: Lists) -> Iterator[str]:
    key = feature.key_beside("key/sha256")
    sha256 = hashlib.sha256(_one(example, feature.key)).hexdigest()
    stated = _one(example, key).decode(errors="replace")
    if sha256 != stated:
        yield f"the image's sha256 is {sha256}, {key} states {stated}"


def _audio_causes(feature: Feature, example: Lists, audio: Audio) -> Iterator[str]:
    for name in ("format", "sample_rate", "num_samples", "channels") if not feature.bare else ():
        key = feature.key_beside(name)
        fact, stated = getattr(audio, name), _one(example, key)
        stated = stated.decode(errors="replace") if isinstance(stated, bytes) else stated
        if stated != fact:
            yield f"the audio's {name} is {fact}, {key} states {stated}"
    shape = (audio.num_samples, audio.channels)
    stored = ListSummary(kind="bytes", length=1, shape=shape, sample_rate=audio.sample_rate)
    if cause := size_problem(feature, stored):
        yield cause


def _one(example: Lists, key: str) -> Any:
    return example[key][1][0]
