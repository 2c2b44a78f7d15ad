"""One record is checked, measured and hashed: what Inspect does to each.

No Beam here: worker processes import this module.
"""

from collections import Counter

from beam_pipeline import kinds
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.inspect import tokens
from beam_pipeline.inspect.deferred import read_deferred
from beam_pipeline.inspect.digest import content_digest
from beam_pipeline.inspect.stored_example import inspect_existing
from beam_pipeline.kinds.array import measure
from beam_pipeline.kinds.kind import MAX_RECORD_BYTES, Inspection, check_text
from beam_pipeline.kinds.rules import Rules
from beam_pipeline.records import (
    Deferred,
    Element,
    Inspected,
    InspectedElement,
    Record,
    Rejected,
    Value,
)
from beam_pipeline.running.record_limits import TOO_MUCH_MEMORY, too_large
from beam_pipeline.schema.conformance import conforming

# What an Example's framing, keys and numbers take beside the payload, roughly.
_EXAMPLE_OVERHEAD_BYTES = 400


def inspect_record(
    record: Record, rules: Rules, read: storage.ReadFile = storage.read_bytes
) -> Inspected:
    """`record` with all that its files' bytes tell.

    Images and audio get format, size, sha256 and what has to be converted; arrays type, shape
    and range; boxes become fractions of the upright image; texts get tokens beside them; what
    the user declared is held against the values. `notes` counts what was changed, `num_bytes`
    estimates the Example.

    Raises:
        RecordError: Something about the record cannot be used (docs/data-checks.md).
        ConfigError: The tokenizer cannot be used.
    """
    check_text("key", record.key)
    if record.example:
        return inspect_existing(record, rules, read)
    given, deferred = read_deferred(record.features, read)
    inspection = Inspection(
        rules=rules,
        read=read,
        notes=Counter(record.notes or None),
        num_bytes=_EXAMPLE_OVERHEAD_BYTES,
    )
    features: dict[str, Value] = {
        name: kinds.of(value).check(name, value, inspection) for name, value in given.items()
    }
    for name, value in features.items():
        kind = kinds.of(value)
        if kind.has_geometry:
            features[name] = kind.turn(value, inspection)
    num_bytes = inspection.num_bytes
    if rules.tokenizer:
        num_bytes += _add_tokens(features, deferred, rules.tokenizer)
    if rules.schema:
        features = conforming(features, rules.schema, may_be_nan=rules.may_be_nan)
    if num_bytes > MAX_RECORD_BYTES:
        raise RecordError(
            "record too large",
            f"about {num_bytes:,} bytes in all, where {MAX_RECORD_BYTES:,} are allowed",
        )
    return Inspected.of(
        record,
        features=features,
        notes=dict(inspection.notes),
        content_digest=content_digest(features),
        num_bytes=num_bytes,
        deferred={name: value for name, value in deferred.items() if name in features},
        look=inspection.look,
    )


def _add_tokens(features: dict[str, Value], deferred: dict[str, Deferred], tokenizer: str) -> int:
    """Adds the tokens of every text, but where there are some; their bytes, about."""
    num_bytes = 0
    for name, value in [*features.items()]:
        if isinstance(value, str) and f"{name}/tokens" not in features:
            array = tokens.token_array(value, tokenizer)
            features[f"{name}/tokens"], value_bytes = measure(array)
            num_bytes += value_bytes
            if text := deferred.get(name):
                deferred[f"{name}/tokens"] = tokens.deferred_tokens(text, tokenizer)
    return num_bytes


def inspect_element(
    element: Element, rules: Rules, read: storage.ReadFile = storage.read_bytes
) -> InspectedElement:
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
    return Rejected.of(source, error)
