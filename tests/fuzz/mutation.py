"""Seeded mutations of files, like those of faulty disks, killed programs and attackers.

Checksums of mutated files are recomputed, so that readers get past them.
"""

import copy
import hashlib
import json
import random
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from tfrecord_dataset.format.frames import framed, masked_checksum

INTEGERS = (0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF)
INTEGERS += (0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
NUMBERS = (
    *(b"0", b"-1", b"1e999", b"-0.0", b"nan", b"inf", b"1e-400", b"99999999999999999999"),
    *(b"0x10", b"1_000", b"9" * 5000, b"2147483648", b"\xd9\xa3"),
)
TOKENS = (
    *(b"\0", b"\xff", b"\xed\xa0\x80", b"\r", b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xff\xfe"),
    *(b'"', b"'", b"\\", b"\\u0000", b"\\ud800", b"[" * 5000, b'{"a":' * 300, b"null", b"true"),
    *(b"{}", b"[]", b",", b"\t", b";", b"../../x", b"/etc/passwd", b"s3://a/b", b"\x1b[2J"),
    *(b"<!DOCTYPE a>", b"&amp;", b"<a>" * 2000, b"<!-- ", b"*a", b"&a [*a,*a]"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 7, 0.5, 1e300, 1 << 70, -(1 << 63), float("nan")),
    *("", "x", "\0", "../x", "9" * 400, [], [1], {}, {"a": 1}, [[]], ["x"]),
)

_DIGITS = b"0123456789"
_PNG_START = 8
_CHECKSUM = b'"checksum": ""\n}\n'


def mutated(draw: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Apply one to five changes to `data`; some insert parts of `others`."""
    for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
        change = draw.choice(_CHANGES)
        data = change(draw, data, others)
    return data


def json_mutated(draw: random.Random, text: str) -> str:
    """The JSON with several values replaced, removed or renamed."""
    value = json.loads(text)
    for _ in range(draw.choice((1, 1, 2, 4))):
        above, name = draw.choice([*_places(value)] or [(None, None)])
        if above is None:
            return json.dumps(draw.choice(VALUES))
        what = draw.randrange(4)
        if what == 0:
            del above[name]
        elif what == 1 and isinstance(above, dict):
            above[draw.choice([*above, "x", ""])] = above.pop(name)
        elif what == 2:
            other, place = draw.choice([*_places(value)])
            above[name] = json.loads(json.dumps(other[place]))
        else:
            above[name] = copy.deepcopy(draw.choice(VALUES))
    return json.dumps(value, indent=draw.choice((None, 2)))


def _places(value: Any) -> Any:
    """(container, key or index) of all nested values."""
    pairs = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for name, inner in pairs:
        yield value, name
        yield from _places(inner)


def _place(draw: random.Random, data: bytes) -> int:
    """Draw a position, often near the start or the end, where formats have their headers."""
    near = draw.randrange(min(len(data), 64) + 1)
    return draw.choice((near, len(data) - near, draw.randrange(len(data) + 1)))


def _flip(draw: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8)) if data else 0):
        changed[min(_place(draw, data), len(data) - 1)] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _truncate(draw: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: _place(draw, data)]


def _delete(draw: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(draw, data)
    return data[:at] + data[at + draw.choice((1, 2, 4, 17, 400)) :]


def _repeat(draw: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(draw, data)
    part = data[at : at + draw.choice((1, 4, 30, 400))]
    return data[:at] + part * draw.choice((1, 1, 2, 50)) + data[at:]


def _integer(draw: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    width = draw.choice((1, 2, 4, 8))
    number = draw.choice(INTEGERS) % (1 << 8 * width)
    packed = number.to_bytes(width, draw.choice(("little", "big")))
    at = _place(draw, data)
    return data[:at] + packed + data[at + draw.choice((0, width, width)) :]


def _token(draw: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(draw, data)
    return data[:at] + draw.choice(TOKENS) + data[at + draw.choice((0, 0, 1, 4)) :]


def _number(draw: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Replace a number written in digits."""
    at = draw.randrange(len(data) + 1)
    while at < len(data) and data[at] not in _DIGITS:
        at += 1
    end = at
    while end < len(data) and data[end] in _DIGITS:
        end += 1
    return data[:at] + draw.choice(NUMBERS) + data[end:]


def _splice(draw: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = draw.choice(others)
    at, there = _place(draw, data), _place(draw, other)
    part = other[there:] if draw.random() < 0.5 else other[there : there + draw.randrange(200)]
    return data[:at] + part + data[at + draw.choice((0, len(part))) :]


_CHANGES = (_flip, _truncate, _delete, _repeat, _integer, _token, _number, _splice)


def seal_png(data: bytes) -> bytes:
    """Fix the checksum of every chunk, as far as chunks are contiguous."""
    out, at = bytearray(data[:_PNG_START]), _PNG_START
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        end = at + 8 + length
        if end + 4 > len(data):
            break
        out += data[at:end] + struct.pack(">I", zlib.crc32(data[at + 4 : end]))
        at = end + 4
    return bytes(out) + data[at:]


def seal_frames(data: bytes) -> bytes:
    """Fix the checksums of TFRecord frames, as far as the lengths are valid."""
    out, at = bytearray(), 0
    while at + 16 <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        payload = data[at + 12 : at + 12 + length]
        if at + 16 + length > len(data):
            checksum = struct.pack("<I", masked_checksum(data[at : at + 8]))
            return bytes(out) + data[at : at + 8] + checksum + data[at + 12 :]
        out += framed(payload)
        at += 16 + length
    return bytes(out) + data[at:]


def seal_ogg(data: bytes) -> bytes:
    """Fix the checksum of every complete page."""
    out, at = bytearray(data), 0
    while (at := data.find(b"OggS", at)) >= 0 and at + 27 <= len(data):
        lacing = data[at + 27 : at + 27 + data[at + 26]]
        end = at + 27 + len(lacing) + sum(lacing)
        if end <= len(data):
            out[at + 22 : at + 26] = bytes(4)
            out[at + 22 : at + 26] = struct.pack("<I", _ogg_crc(bytes(out[at:end])))
        at += 4
    return bytes(out)


def _ogg_crc(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc & 0x80000000 else 0)) & 0xFFFFFFFF
    return crc


def sealed_text(text: str) -> bytes:
    """JSON, valid or not, with its own checksum at the end, as in `json_file`."""
    data = text.encode(errors="surrogateescape").rstrip()
    data = data.removesuffix(b"}").rstrip() + b",\n  " + _CHECKSUM
    checksum = hashlib.sha256(data).hexdigest().encode()
    return data.removesuffix(_CHECKSUM) + _CHECKSUM.replace(b'""', b'"%s"' % checksum)


def unsealed_text(data: bytes) -> str:
    """The JSON of a sealed file without its checksum."""
    value = json.loads(data)
    value.pop("checksum", None)
    return json.dumps(value, indent=2)
