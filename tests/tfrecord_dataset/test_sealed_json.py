"""Any change of a sealed file is detected."""

import hashlib
import json

import pytest

from tfrecord_dataset.sealed_json import check_seal, sealed

VALUE = {"name": "Zellen ä", "splits": {"train": [1, 2]}}
SEALED = sealed(VALUE).encode()


def test_the_value_comes_back_with_its_checksum_behind():
    check_seal(SEALED)
    read = json.loads(SEALED)
    assert list(read) == ["name", "splits", "checksum"]
    without = SEALED.replace(read["checksum"].encode(), b"")
    assert read["checksum"] == hashlib.sha256(without).hexdigest()


def test_every_flipped_bit_is_found():
    for bit in range(8 * len(SEALED)):
        changed = bytearray(SEALED)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="checksum"):
            check_seal(bytes(changed))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(SEALED[:-1], id="cut"),
        pytest.param(SEALED + b"\n", id="longer"),
        pytest.param(SEALED[1:], id="without its first byte"),
        pytest.param(json.dumps(json.loads(SEALED)).encode(), id="written otherwise"),
        pytest.param(SEALED[: SEALED.index(b'"splits"')] + SEALED[-81:], id="without a key"),
    ],
)
def test_other_damage_is_found(data):
    with pytest.raises(ValueError, match="checksum"):
        check_seal(data)
