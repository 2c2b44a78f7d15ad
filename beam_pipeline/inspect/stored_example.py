"""Inspects existing Examples: checks them like other records, and leaves their bytes unchanged."""

import contextlib
import dataclasses
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from beam_pipeline.errors import RecordError, naming
from beam_pipeline.files import storage
from beam_pipeline.kinds.kind import Rules, describe_bytes
from beam_pipeline.kinds.media import size_problem
from beam_pipeline.kinds.stored import summary
from beam_pipeline.media.audio import AudioOptions, inspect_audio
from beam_pipeline.media.images import ImageOptions, inspect_image
from beam_pipeline.records import Expectation, FileRef, ListSummary, Value
from beam_pipeline.schema.conformance import mismatches, schema_specs
from tfrecord_dataset.format.example import has_too_many, lists
from tfrecord_dataset.format.feature_keys import Lists, describe_list
from tfrecord_dataset.format.frames import FRAME_BYTES, MAX_PAYLOAD_BYTES, payload_of
from tfrecord_dataset.format.inference import named_classes
from tfrecord_dataset.format.value_forms import AUDIO_FORMS, IMAGE_FORMS, form_of

_MISFIT = "does not fit the schema"


class Existing(NamedTuple):
    """An inspected Example: values by key, and the frame with its digest."""

    features: Mapping[str, Value]
    notes: Mapping[str, int]
    content_digest: str
    num_bytes: int
    example: FileRef


def inspect_existing(
    file: FileRef,
    rules: Rules,
    expected: Mapping[str, Expectation],
    read: storage.ReadFile = storage.read_bytes,
) -> Existing:
    """Inspect the Example in a frame; raises as `inspect_example`."""
    assert file.length is not None
    if file.length > FRAME_BYTES + MAX_PAYLOAD_BYTES:
        raise RecordError("record too large", f"{file.length:,} bytes")
    frame = read(file)
    features, notes = inspect_example(payload_of(frame), rules, expected)
    sha256 = hashlib.sha256(frame).hexdigest()
    return Existing(
        features,
        notes,
        _content(features) or sha256,
        len(frame),
        dataclasses.replace(file, sha256=sha256),
    )


def _content(features: Mapping[str, Value]) -> str:
    """Return a text that is equal for equal images and audio; "" without any."""
    values = (value for value in features.values() if isinstance(value, ListSummary))
    digests = [value.sha256 for value in values if value.sha256]
    if len(digests) > 1:
        return hashlib.sha256(repr(digests).encode()).hexdigest()
    return "".join(digests)


def inspect_example(
    payload: bytes, rules: Rules, expected: Mapping[str, Expectation]
) -> tuple[dict[str, Value], dict[str, int]]:
    """Return (features, notes) of a serialized Example, as in `Existing`.

    Raises:
        RecordError: It is not an Example, an image or audio in it is damaged, or it does not
            match the schema or the first records of the dataset.
    """
    example = parse_example(payload)
    forms = declared_forms(example, rules) if rules.schema else expected_forms(example, expected)
    declared = {feature.key: feature for feature in rules.schema}
    features: dict[str, Value] = {}
    notes: Counter[str] = Counter()
    classes = named_classes(example)
    for key, (kind, values) in sorted(example.items()):
        value = summary(kind, values)
        if key in classes and isinstance(value, ListSummary):
            value = dataclasses.replace(value, names=tuple(sorted(classes[key])))
        if forms.get(key):
            assert isinstance(value, ListSummary)
            with naming(f"key {key!r}"):
                value = _inspected(value, values[0], rules.image.max_pixels, notes)
            if key in declared and (
                problem := size_problem(declared[key], value.shape, value.sample_rate)
            ):
                raise RecordError(_MISFIT, problem)
        features[declared[key].name if key in declared else key] = value
    return features, dict(notes)


def parse_example(payload: bytes) -> Lists:
    """Parse an Example to its lists by key.

    Raises:
        RecordError: "not an Example", "too many keys" or "key without a name".
    """
    try:
        example = lists(payload)
    except ValueError as error:
        reason = "too many keys" if has_too_many(payload) else "not an Example"
        raise RecordError(reason, str(error)) from error
    if not example:
        raise RecordError("not an Example", "it has no features")
    if "" in example:
        raise RecordError("key without a name", 'the Example has the key ""; give it a name')
    return example


def declared_forms(example: Lists, rules: Rules) -> dict[str, str]:
    """Return keys of an "image" or "audio" by the schema; RecordError if the Example mismatches."""
    for problem in mismatches(schema_specs(rules.schema), example):
        raise RecordError(_MISFIT, problem)
    return {
        feature.key: feature.kind for feature in rules.schema if feature.kind in ("image", "audio")
    }


def expected_forms(example: Lists, expected: Mapping[str, Expectation]) -> dict[str, str]:
    """Find keys of an "image" or "audio" by the first records, else by their first bytes.

    Raises:
        RecordError: The Example differs from the first records.
    """
    forms = {}
    for key, (kind, values) in example.items():
        there = expected.get(key)
        if there and kind not in ("", there.kind):
            raise RecordError(
                "type conflict",
                f"key {key!r} holds {describe_list(kind)}, where {there.source} holds "
                f"{describe_list(there.kind)}",
            )
        if kind == "bytes" and len(values) == 1:
            form = encoded_form(values[0])
            if there and there.form and form != there.form:
                what = {"image": "an image", "audio": "audio"}[there.form]
                raise RecordError(
                    f"not {what}",
                    f"key {key!r} holds {describe_bytes(values[0])}, where {there.source} holds "
                    f"{what}; if both are right, declare the kind bytes with --schema",
                )
            forms[key] = form if there is None else there.form
    return forms


def encoded_form(value: bytes) -> str:
    """Return "image", "audio" or "", by the first bytes."""
    form = form_of(value)
    return "image" if form in IMAGE_FORMS else "audio" if form in AUDIO_FORMS else ""


def _inspected(
    value: ListSummary, data: bytes, max_pixels: int, notes: Counter[str]
) -> ListSummary:
    """Check that an image or audio is intact; note what other sources would convert."""
    if value.form in AUDIO_FORMS:
        audio, _ = inspect_audio(data, AudioOptions())
        shape, sha256 = (audio.num_samples, audio.channels), audio.file.sha256
        return dataclasses.replace(value, sha256=sha256, shape=shape, sample_rate=audio.sample_rate)
    found = inspect_image(data, ImageOptions(max_pixels=max_pixels))
    for reason in found.image.conversions:
        notes[f"image kept: {reason}"] += 1
    sha256 = found.image.file.sha256
    return dataclasses.replace(value, sha256=sha256, shape=tuple(found.source_size))


def expectations(records: Iterable[tuple[str, bytes]]) -> dict[str, Expectation]:
    """Find the usual content of each key in (source, payload) pairs.

    Damaged payloads are skipped: Inspect rejects them.
    """
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    sources: dict[tuple[str, str], str] = {}
    for source, payload in records:
        with contextlib.suppress(RecordError):
            for key, (kind, values) in parse_example(payload).items():
                there = [(kinds, kind)] if kind else []
                if kind == "bytes" and len(values) == 1 and values[0]:
                    there.append((forms, encoded_form(values[0])))
                for counts, what in there:
                    counts[key][what] += 1
                    sources.setdefault((key, what), source)
    expected = {}
    for key, seen in kinds.items():
        [(kind, _)] = seen.most_common(1)
        form, count = (*forms[key].most_common(1), ("", 0))[0]
        usual = form if kind == "bytes" and 2 * count > forms[key].total() else ""
        expected[key] = Expectation(kind, usual, sources[key, usual or kind])
    return expected
