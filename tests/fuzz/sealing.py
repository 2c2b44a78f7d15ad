"""Recompute the checksums of mutated files, so that readers get past them."""

import hashlib
import json
import struct
import zlib

from tfrecord_dataset.format.frames import framed, masked_checksum

_PNG_START = 8
_CHECKSUM = b'"checksum": ""\n}\n'


def png(data: bytes) -> bytes:
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


def frames(data: bytes) -> bytes:
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


def ogg(data: bytes) -> bytes:
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
    """JSON, valid or not, with its own checksum at the end, as in `sealed_json`."""
    data = text.encode(errors="surrogateescape").rstrip()
    data = data.removesuffix(b"}").rstrip() + b",\n  " + _CHECKSUM
    checksum = hashlib.sha256(data).hexdigest().encode()
    return data.removesuffix(_CHECKSUM) + _CHECKSUM.replace(b'""', b'"%s"' % checksum)


def unsealed_text(data: bytes) -> str:
    """The JSON of a sealed file without its checksum."""
    value = json.loads(data)
    value.pop("checksum", None)
    return json.dumps(value, indent=2)
