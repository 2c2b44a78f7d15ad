"""How many keys an Example has, counted before it is parsed: in memory a key takes far more."""

MAX_KEYS = 20_000
"""Of an Example, and features of a dataset; what a feature costs beside its values is linear."""

TOO_MANY = (
    f"more than the {MAX_KEYS:,} keys or columns that are read; store numbers as one list under "
    "one key"
)
"""What is said of more, and what helps."""

_FEATURES_TAG = b"\x0a"  # field 1, with a length: of an Example its Features, of these a key
# An empty key: its tag and its length. So a shorter Example cannot have too many.
_KEY_BYTES = 2


def has_too_many(serialized: bytes) -> bool:
    """Whether a serialized Example has over MAX_KEYS; of other bytes it says nothing."""
    if len(serialized) <= MAX_KEYS * _KEY_BYTES:
        return False
    most, at, end = MAX_KEYS, 0, len(serialized)
    while serialized[at : at + 1] == _FEATURES_TAG:
        length, at = _varint(serialized, at + 1)
        inner_end = min(at + length, end)
        while at < inner_end and serialized[at : at + 1] == _FEATURES_TAG:
            length, at = _varint(serialized, at + 1)
            at += length
            most -= 1
            if most < 0:
                return True
        at = inner_end
    return False


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(the number that begins at a byte, the byte behind it)."""
    number = shift = 0
    for byte in data[at : at + 10]:
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return number, at
