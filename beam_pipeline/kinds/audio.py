"""Audio: encoded files."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.errors import naming
from beam_pipeline.kinds.example_lists import one
from beam_pipeline.kinds.kind import Inspection, Stored
from beam_pipeline.kinds.media_kind import (
    MediaKind,
    of_key,
    one_format,
    one_shape,
    read_file,
    size_problem,
    with_facts,
)
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.rules import Rules
from beam_pipeline.kinds.wording import between
from beam_pipeline.media.audio import AudioOptions, encode_audio, inspect_audio
from beam_pipeline.media.audio_format import check_start
from beam_pipeline.records import Audio
from tfrecord_dataset.format.example import FeatureValue
from tfrecord_dataset.format.feature import Feature, shape_text
from tfrecord_dataset.format.feature_keys import Lists, agrees
from tfrecord_dataset.format.value_forms import AUDIO_FORMS
from tfrecord_dataset.shown_text import counted

# Facts that are stored with audio.
_NUMBERS = ("sample_rate", "num_samples", "channels")


class AudioKind(MediaKind[Audio]):
    """Audio: format, length, channels, sample rate, sha256 and what has to be converted."""

    values = (Audio,)
    features = ("audio",)
    types = ("audio",)
    forms = AUDIO_FORMS
    dtypes = ("float32",)

    def check(self, name: str, value: Audio, inspection: Inspection) -> Audio:
        with naming(f"feature {name!r}"):
            data = read_file(inspection.read, value.file, check_start)
            facts = inspect_audio(data, inspection.rules.audio)
        for reason in facts.conversions:
            inspection.notes[f"audio converted: {reason}"] += 1
        inspection.num_bytes += facts.estimated_bytes
        return with_facts(value.file, data, Audio, facts)

    def observe(self, value: Audio, source: str, observed: Observed) -> None:
        observed.formats[value.format] += 1
        observed.add_shape((value.num_samples, value.channels))
        observed.add_sample_rates({value.sample_rate: 1})
        observed.measure("num_samples", value.num_samples)

    def complete(self, feature: Feature, observed: Observed, declared: tuple[str, ...]) -> Feature:
        rates = observed.sample_rates
        return dataclasses.replace(
            feature,
            format=one_format(observed),
            shape=one_shape(observed),
            sample_rate=next(iter(rates)) if len(rates) == 1 else 0,
        )

    def fits(self, feature: Feature, value: Any) -> bool:
        return (
            isinstance(value, Audio)
            and feature.sample_rate in (0, value.sample_rate)
            and agrees(feature.shape, (value.num_samples, value.channels))
        )

    def shown(self, value: Audio) -> str:
        return (
            f"audio of {value.num_samples:,} samples, {value.channels} channels and "
            f"{value.sample_rate:,} Hz"
        )

    def expected(self, feature: Feature) -> str:
        rate = f" at {feature.sample_rate:,} Hz" if feature.sample_rate else ""
        return f"audio {shape_text(feature)}{rate}"

    def summary(self, feature: Feature, observed: Observed, num_records: int) -> Iterator[str]:
        if feature.sample_rate:
            yield f"{feature.sample_rate:,} Hz"
        if feature.shape[1:] and (channels := feature.shape[1]):
            yield counted(channels, "channel")
        if samples := observed.span("num_samples"):  # none of existing Examples
            yield between(*samples, "sample")

    def payload(self, value: Audio, data: bytes, rules: Rules) -> bytes:
        return encode_audio(data, value)

    def encode(self, feature: Feature, value: Any, stored: Stored) -> dict[str, FeatureValue]:
        assert isinstance(value, Audio)
        payload = stored.payloads[feature.name]
        if feature.bare:
            return {feature.key: [payload]}
        prefix = feature.subkey("")  # once: a record asks for many
        return {
            feature.key: [payload],
            f"{prefix}format": [value.format.encode()],
            **{f"{prefix}{name}": [getattr(value, name)] for name in _NUMBERS},
        }

    def differences(self, feature: Feature, lists: Lists) -> Iterator[str]:
        with of_key(feature.key):
            facts = inspect_audio(bytes(one(lists, feature.key)), AudioOptions())
        for name in ("format", *_NUMBERS) if not feature.bare else ():
            fact, key = getattr(facts, name), feature.subkey(name)
            stated = one(lists, key)
            stated = stated.decode(errors="replace") if isinstance(stated, bytes) else stated
            if stated != fact:
                yield f"the audio's {name} is {fact}, {key} states {stated}"
        sizes = (facts.num_samples, facts.channels)
        if problem := size_problem(feature, sizes, facts.sample_rate):
            yield problem

    def note(self, feature: Feature, lists: Mapping[str, Sequence[Any]]) -> str:
        """Its length, rate and channels."""
        if feature.bare:
            return ""
        rate, samples, channels = (lists[feature.subkey(name)][0] for name in _NUMBERS)
        seconds = f"{samples / rate:.2f} s, " if rate else ""
        return f" ({seconds}{rate:,} Hz, {counted(channels, 'channel')})"

    def fact_types(self, feature: Feature) -> Mapping[str, str]:
        return {"sha256": "string", **dict.fromkeys(_NUMBERS, "int64")}

    def facts(self, value: Audio) -> Mapping[str, Any]:
        return {"sha256": value.file.sha256, **{name: getattr(value, name) for name in _NUMBERS}}
