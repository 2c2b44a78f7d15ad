"""One record is checked, measured and hashed: what Inspect does to each.

No Beam here: worker processes import this module.
"""

import dataclasses
import hashlib
import math
from collections import Counter

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.inspect import tokens
from beam_pipeline.inspect.deferred import read_deferred
from beam_pipeline.inspect.digest import content_digest
from beam_pipeline.inspect.media_values import (
    MAX_RECORD_BYTES,
    measure_array,
    measure_audio,
    measure_raw_file,
)
from beam_pipeline.inspect.rules import Rules
from beam_pipeline.inspect.stored_example import inspect_existing
from beam_pipeline.kinds import objects
from beam_pipeline.kinds.frame import Frame
from beam_pipeline.media.images import ImageFacts, inspect_image
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    Deferred,
    Element,
    ExampleRecord,
    FileRef,
    Image,
    Objects,
    RawFile,
    Record,
    Rejected,
    Value,
    composed,
)
from beam_pipeline.running.record_limits import TOO_MUCH_MEMORY, too_large
from beam_pipeline.schema.conformance import conforming
from beam_pipeline.schema.statistics import dtype_of

# What an Example's framing, keys and numbers take beside the payload, roughly.
_EXAMPLE_OVERHEAD_BYTES = 400
_BOX_BYTES = 40
_MEASURED = (Audio, Array, RawFile)
_LARGEST_FLOAT = 3.4028235677973362e38  # what still rounds to 32 bits


def inspect_record(
    record: Record, rules: Rules, read: storage.ReadFile = storage.read_bytes
) -> Record:
    """`record` with all that its files' bytes tell.

    Images and audio get format, size, sha256 and what has to be converted; arrays type, shape
    and range; boxes become fractions of the upright image; texts get tokens beside them; what
    the user declared is held against the values. `notes` counts what was changed, `num_bytes`
    estimates the Example.

    Raises:
        RecordError: Something about the record cannot be used (docs/data-checks.md).
        ConfigError: The tokenizer cannot be used.
    """
    _check_text("key", record.key)
    if isinstance(record, ExampleRecord):
        return inspect_existing(record, rules, read)
    given, deferred = read_deferred(record.features, read)
    features: dict[str, Value] = {}
    notes: Counter[str] = Counter(record.notes)
    num_bytes = _EXAMPLE_OVERHEAD_BYTES
    facts: dict[str, ImageFacts] = {}
    for name, value in given.items():
        if isinstance(value, Image):
            data = read(value.file)
            fact = facts[name] = inspect_image(data, rules.image)
            file = value.file
            sha256 = hashlib.sha256(data).hexdigest()
            features[name] = Image(
                file=FileRef(path=file.path, offset=file.offset, length=file.length, sha256=sha256),
                format=fact.format,
                width=fact.width,
                height=fact.height,
                channels=fact.channels,
                conversions=fact.conversions,
            )
            for reason in fact.conversions:
                notes[f"image converted: {reason}"] += 1
            num_bytes += fact.estimated_bytes
        elif isinstance(value, _MEASURED):
            features[name], value_bytes = _measured(name, value, rules, notes, read)
            num_bytes += value_bytes
        else:
            _check_scalar(name, value)
            features[name] = with_composed_classes(value)
            num_bytes += _scalar_bytes(value)
    for name, value in features.items():
        if isinstance(value, Objects):
            features[name], changed = _placed(value, facts, rules)
            notes.update(changed)
            num_bytes += _BOX_BYTES * len(value.boxes)
    if rules.tokenizer:
        num_bytes += _add_tokens(features, deferred, rules.tokenizer)
    if rules.schema:
        features = conforming(features, rules.schema, may_be_nan=rules.may_be_nan)
    if num_bytes > MAX_RECORD_BYTES:
        raise RecordError(
            "record too large",
            f"about {num_bytes:,} bytes in all, where {MAX_RECORD_BYTES:,} are allowed",
        )
    return Record(  # dataclasses.replace takes three times as long
        key=record.key,
        features=features,
        split=record.split,
        group=record.group,
        source=record.source,
        source_id=record.source_id,
        notes=dict(notes),
        content_digest=content_digest(features),
        num_bytes=num_bytes,
        deferred={name: value for name, value in deferred.items() if name in features},
    )


def _measured(
    name: str,
    value: Audio | Array | RawFile,
    rules: Rules,
    notes: Counter[str],
    read: storage.ReadFile,
) -> tuple[Value, int]:
    """(`value` with what its bytes tell, about how many it takes where it is stored)."""
    measured: Value
    try:
        match value:
            case Audio():
                measured, num_bytes = measure_audio(value, rules.audio, read)
                for reason in measured.conversions:
                    notes[f"audio converted: {reason}"] += 1
            case RawFile():
                measured, num_bytes = measure_raw_file(value, read)
            case Array():
                measured, num_bytes = measure_array(value, read)
                for reason in measured.conversions if isinstance(measured, Array) else ():
                    notes[f"array converted: {reason}"] += 1
    except RecordError as error:
        raise RecordError(error.reason, f"feature {name!r}: {error.detail}") from error
    if isinstance(measured, int):
        _check_scalar(name, measured)
    return measured, num_bytes


def _add_tokens(features: dict[str, Value], deferred: dict[str, Deferred], tokenizer: str) -> int:
    """Adds the tokens of every text, but where there are some; their bytes, about."""
    num_bytes = 0
    for name, value in [*features.items()]:
        if isinstance(value, str) and f"{name}/tokens" not in features:
            array = tokens.token_array(value, tokenizer)
            features[f"{name}/tokens"], value_bytes = measure_array(array)
            num_bytes += value_bytes
            if text := deferred.get(name):
                deferred[f"{name}/tokens"] = tokens.deferred_tokens(text, tokenizer)
    return num_bytes


def _scalar_bytes(value: Value) -> int:
    match value:
        case str() | bytes():
            return len(value)
        case tuple():
            return sum(map(len, value)) + 2 * len(value)
    return 8


def with_composed_classes(value: Value) -> Value:
    """`value` with the names of classes in Unicode's form NFC: two ways to write "é" are one."""
    match value:
        case ClassLabel(name) if not name.isascii():
            return ClassLabel(composed(name))
        case ClassLabels(names) if not all(map(str.isascii, names)):
            return ClassLabels(tuple(map(composed, names)))
        case Objects(labels=labels) if not all(map(str.isascii, labels)):
            return dataclasses.replace(value, labels=tuple(map(composed, labels)))
    return value


def _check_scalar(name: str, value: Value) -> None:
    """Raises RecordError for what an Example cannot hold."""
    dtype_of(value)
    match value:
        case str() | ClassLabel():
            _check_text(name, value if isinstance(value, str) else value.name)
        case Objects(labels=texts) | ClassLabels(names=texts) | (tuple() as texts):
            for text in texts:
                _check_text(name, text)
            if isinstance(value, Objects):
                for attribute, values in value.attributes.items():
                    for each in values:
                        _check_scalar(f"{name}.{attribute}", each)
        case int() if not -(2**63) <= value < 2**63:
            raise RecordError("value out of range", f"feature {name}: {value} needs over 64 bits")
        case float() if math.isfinite(value) and abs(value) >= _LARGEST_FLOAT:
            raise RecordError("value out of range", f"feature {name}: {value} needs over 32 bits")


def _check_text(name: str, text: str) -> None:
    """Raises RecordError for what is no UTF-8, as names of files may be."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RecordError("not UTF-8", f"{name}: {text!a}") from error


def _placed(
    value: Objects, facts: dict[str, ImageFacts], rules: Rules
) -> tuple[Objects, Counter[str]]:
    """`value` as fractions of the record's image; without an image, of the stated size."""
    if fact := facts.get("image") or next(iter(facts.values()), None):
        frame = frame_of(fact)
    elif value.image_size is not None:
        frame = Frame(size=value.image_size)
    else:
        raise RecordError("malformed annotation", "boxes without an image or a stated image size")
    return objects.place(value, frame, policy=rules.box_policy, stated=bool(rules.box_format))


def frame_of(image: ImageFacts) -> Frame:
    """The frame of an image: how geometry in it is turned and scaled as the image is."""
    frame = Frame(size=image.source_size, orientation=image.orientation)
    width, height = frame.upright_size
    return dataclasses.replace(frame, scale=(image.width / width, image.height / height))


def inspect_element(
    element: Element, rules: Rules, read: storage.ReadFile = storage.read_bytes
) -> Element:
    """A Record inspected, or Rejected if it cannot be used; anything else as it is."""
    if not isinstance(element, Record):
        return element
    try:
        return inspect_record(element, rules, read)
    except RecordError as error:
        return rejected(element, error)
    except MemoryError:
        return rejected(element, RecordError(TOO_MUCH_MEMORY, too_large()))


def rejected(record: Record, error: RecordError) -> Rejected:
    """What becomes of a record that cannot be used."""
    # A name that is no UTF-8 can be printed and written so.
    source = (record.source or record.key).encode(errors="backslashreplace").decode()
    return Rejected(source=source, reason=error.reason, detail=error.detail)
