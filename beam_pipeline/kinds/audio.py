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
)
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.rules import Rules
from beam_pipeline.kinds.wording import between
from beam_pipeline.media.audio import AudioOptions, encode_audio, inspect_audio
from beam_pipeline.media.audio_formats import check_start
from beam_pipeline.records import Audio
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists
from tfrecord_dataset.format.value_forms import AUDIO_FORMS
from tfrecord_dataset.shown_text import counted

# Facts that are stored with audio.
_NUMBERS = ("sample_rate", "num_samples", "channels")


class AudioKind(MediaKind[Audio]):
    """Audio: format, length, channels, sample rate, sha256 and conversions."""

    values = (Audio,)
    features = ("audio",)
    types = ("audio",)
    forms = AUDIO_FORMS
    dtypes = ("float32",)
    numbers = _NUMBERS

    def sizes(self, value: Audio) -> tuple[int, ...]:
        return value.num_samples, value.channels

    def check(self, name: str, value: Audio, inspection: Inspection) -> Audio:
        with naming(f"feature {name!r}"):
            data = read_file(inspection.read, value.file, check_start)
            audio, num_bytes = inspect_audio(data, inspection.rules.audio, value.file)
        inspection.count("audio", audio.conversions, num_bytes)
        return audio

    def observe(self, value: Audio, source: str, observed: Observed) -> None:
        observed.formats[value.format] += 1
        observed.add_shape((value.num_samples, value.channels))
        observed.sample_rates[value.sample_rate] += 1
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
        return super().fits(feature, value) and feature.sample_rate in (0, value.sample_rate)

    def shown(self, value: Audio) -> str:
        return f"{super().shown(value)} at {value.sample_rate} Hz"

    def summary(self, feature: Feature, observed: Observed, num_records: int) -> Iterator[str]:
        if feature.sample_rate:
            yield f"{feature.sample_rate:,} Hz"
        if feature.shape[1:] and (channels := feature.shape[1]):
            yield counted(channels, "channel")
        if samples := observed.span("num_samples"):  # unknown for existing Examples
            yield between(*samples, "sample")

    def payload(self, value: Audio, data: bytes, rules: Rules) -> bytes:
        return encode_audio(data, value)

    def parts(self, value: Audio, payload: bytes, stored: Stored) -> Mapping[str, Any]:
        return {"format": value.format, **{name: getattr(value, name) for name in _NUMBERS}}

    def differences(self, feature: Feature, lists: Lists) -> Iterator[str]:
        with of_key(feature.key):
            audio, _ = inspect_audio(bytes(one(lists, feature.key)), AudioOptions())
        for name in ("format", *_NUMBERS) if not feature.bare else ():
            fact, key = getattr(audio, name), feature.subkey(name)
            stated = one(lists, key)
            stated = stated.decode(errors="replace") if isinstance(stated, bytes) else stated
            if stated != fact:
                yield f"the audio's {name} is {fact}, {key} states {stated}"
        sizes = (audio.num_samples, audio.channels)
        if problem := size_problem(feature, sizes, audio.sample_rate):
            yield problem

    def note(self, feature: Feature, lists: Mapping[str, Sequence[Any]]) -> str:
        """Return its length, rate and channels."""
        if feature.bare:
            return ""
        rate, samples, channels = (lists[feature.subkey(name)][0] for name in _NUMBERS)
        seconds = f"{samples / rate:.2f} s, " if rate else ""
        return f" ({seconds}{rate:,} Hz, {counted(channels, 'channel')})"
