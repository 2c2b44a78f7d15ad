"""A damaged gzip file is unpacked up to the damage, and again from the next member on."""

import gzip
import io
import random

import pytest

from beam_pipeline.tfrecord.broken_gzip import unpack

ONE, TWO, THREE = (random.Random(seed).randbytes(100_000) for seed in range(3))
MEMBERS = [gzip.compress(content, mtime=0) for content in (ONE, TWO, THREE)]
PACKED = b"".join(MEMBERS)


def unpacked(data):
    content = io.BytesIO()
    gaps = unpack(io.BytesIO(data), content, "x.gz")
    return content.getvalue(), gaps


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(PACKED, id="members"),
        pytest.param(PACKED + bytes(1000), id="padded"),
        pytest.param(MEMBERS[0] + bytes(200_000) + MEMBERS[1] + MEMBERS[2], id="far apart"),
    ],
)
def test_what_is_whole(data):
    assert unpacked(data) == (ONE + TWO + THREE, [])


def test_nothing():
    assert unpacked(b"") == (b"", [])


def test_cut_off():
    content, [gap] = unpacked(PACKED[:-50_000])
    assert content.startswith(ONE + TWO + THREE[:40_000])
    assert (gap.offset, gap.length) == (len(content), 0)
    assert "ends too early" in gap.cause


def test_a_flipped_bit_costs_one_member():
    damaged = bytearray(PACKED)
    damaged[len(MEMBERS[0]) + 6] ^= 64  # of its header: the rest is read, its checksum is not
    place = len(MEMBERS[0]) + len(MEMBERS[1]) // 2
    damaged[place : place + 100] = bytes(100)
    content, gaps = unpacked(bytes(damaged))
    assert content.startswith(ONE + TWO[:40_000])
    assert content.endswith(THREE)
    [gap] = gaps
    assert "is damaged" in gap.cause


@pytest.mark.parametrize("byte", [0, 1, 2])
def test_no_start(byte):
    damaged = bytearray(PACKED)
    damaged[byte] ^= 1
    content, gaps = unpacked(bytes(damaged))
    assert content.endswith(TWO + THREE)
    assert gaps


def test_all_of_the_block_before_the_damage():
    """Not only what whole blocks have."""
    small = gzip.compress(b"0123456789" * 10, mtime=0)
    content, [gap] = unpacked(small[:-8] + bytes(8))
    assert content == b"0123456789" * 10
    assert "incorrect data check" in gap.cause


@pytest.mark.parametrize("seed", range(20))
def test_any_damage(seed):
    rng = random.Random(seed)
    damaged = bytearray(PACKED)
    for _ in range(rng.randrange(1, 4)):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    content, gaps = unpacked(bytes(damaged))
    assert gaps or content == ONE + TWO + THREE
