"""Keys of Examples are counted before parsing, and too many are refused."""

import pytest
from fresh_python import printed

from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.inspect.stored_example import parse_example
from beam_pipeline.records import FileRef, Inspected
from tfrecord_dataset.format import inference
from tfrecord_dataset.format.example import (
    MAX_KEYS,
    encode,
    has_too_many,
    lists,
)

MOST = encode({f"{number}": [number] for number in range(MAX_KEYS)})
ONE_MORE = encode({f"{number}": [number] for number in range(MAX_KEYS + 1)})
NAMELESS = bytes.fromhex("0a00")
# A second Features message, which is merged with the first.
ANOTHER = encode({"x": []})


@pytest.mark.parametrize(
    ("serialized", "expected"),
    [
        pytest.param(MOST, False, id="the most"),
        pytest.param(ONE_MORE, True, id="one more"),
        pytest.param(MOST + ANOTHER, True, id="in two parts"),
        pytest.param(b"\x0a\xff\xff\xff\x7f" + NAMELESS * 20_001, True, id="nameless and cut"),
        pytest.param(b"\x0a\x02" + NAMELESS * 20_001, False, id="other fields"),
        pytest.param(b"\x0a" + b"\xff" * 50_000, False, id="a length without end"),
        pytest.param(bytes(50_000), False, id="zeros"),
        pytest.param(b"", False, id="empty"),
    ],
)
def test_counting(serialized, expected):
    assert has_too_many(serialized) is expected


def test_an_example_of_too_many_keys_is_rejected_by_name():
    assert len(parse_example(MOST)) == MAX_KEYS
    with pytest.raises(RecordError, match=r"too many keys: .*more than the 20,000 keys"):
        parse_example(ONE_MORE)
    with pytest.raises(ValueError, match="more than the 20,000 keys"):
        lists(ONE_MORE)
    with pytest.raises(ValueError, match="more than the 20,000 keys"):
        inference.observe([("a", ONE_MORE)])


def test_examples_that_have_too_many_keys_together_end_the_work():
    file = FileRef(path="a")
    halves = [{f"{half}{n}": n for n in range(MAX_KEYS // 2 + half)} for half in (0, 1)]
    records = [Inspected(key="a", example=file, features=half) for half in halves]
    counted = Statistics()
    counted.observe([records[0]], "train")
    with pytest.raises(DataError, match="the records together have 20,001 features, such as"):
        counted.observe([records[1]], "train")
    with pytest.raises(ValueError, match="they have more than the 20,000 keys"):
        inference.observe([(record.key, encode(_lists(record))) for record in records])


def _lists(record):
    return {name: [value] for name, value in record.features.items()}


_PARSE = """
import resource
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.errors import RecordError
from beam_pipeline.inspect.stored_example import parse_example

entries = b"".join(b"\\x0a\\x06\\x0a\\x04" + n.to_bytes(4, "big") for n in range(1_000_000))
length = len(entries)
data = b"\\x0a" + bytes(length >> shift & 127 | 128 * (shift < 28) for shift in range(0, 35, 7))
data += entries
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    parse_example(data)
except RecordError as error:
    print(error.reason, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_millions_of_keys_take_no_memory():
    reason, grown = printed(_PARSE).rsplit(maxsplit=1)
    assert reason == "too many keys"
    assert int(grown) < 20 << 10  # KiB
