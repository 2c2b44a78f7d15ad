"""Small files that exhaust memory or time of readers that trust them, made at run time."""

import struct
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from file_bytes import array_bytes, exif_of, image_bytes, zip_bytes
from PIL import Image

from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.audio_formats import wav_header
from beam_pipeline.media.images import ImageOptions


class Hostile(NamedTuple):
    """A file, and the expected result.

    Attributes:
        name: File name, with the suffix of its kind.
        make: Makes the content.
        reason: Reason of the reject; "" if it is accepted, within bounds.
        options: Options for storing images or audio.
        large: Whether making it takes a second, or much memory.
    """

    name: str
    make: Callable[[], bytes]
    reason: str = ""
    options: ImageOptions | AudioOptions | None = None
    large: bool = False


def saved(mode: str, side: int, file_format: str, **options: Any) -> bytes:
    """Make an image of one colour."""
    colour = 90 if mode in ("L", "P") else (90,) * len(mode)
    return image_bytes(Image.new(mode, (side, side), colour), file_format, **options)


def resized_jpeg(side: int, **options: Any) -> bytes:
    """Make a JPEG whose header states a wrong size."""
    data = bytearray(saved("RGB", 16, "JPEG", **options))
    frame = next(data.index(mark) for mark in (b"\xff\xc2", b"\xff\xc0") if mark in data)
    struct.pack_into(">HH", data, frame + 5, side, side)
    return bytes(data)


def jpeg_of_scans(number: int) -> bytes:
    """Make a progressive JPEG that repeats its last scan."""
    data = saved("L", 2000, "JPEG", progressive=True)
    last = data[data.rindex(b"\xff\xda") : -2]
    return data[:-2] + last * number + data[-2:]


def turned(data: bytes) -> bytes:
    """Add an EXIF rotation by 90 degrees to a JPEG."""
    body = exif_of(6).tobytes()
    segment = b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body
    return data[:2] + segment + data[2:]


def webp(kind: bytes, side: int) -> bytes:
    """Make the start of a WebP, with its size."""
    body = {
        b"VP8X": bytes(4) + (side - 1).to_bytes(3, "little") * 2,
        b"VP8L": b"\x2f" + struct.pack("<I", (side - 1) | (side - 1) << 14),
        b"VP8 ": b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", side, side),
    }[kind]
    chunk = kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


def tiff(*tags: tuple[int, int, int, int], more: bytes = b"", order: str = "<") -> bytes:
    """Make a TIFF from tags (tag, kind, number of values, value or offset)."""
    entries = b"".join(struct.pack(f"{order}HHII", *tag) for tag in tags)
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", 8 + len(more))
    return head + more + struct.pack(f"{order}H", len(tags)) + entries + bytes(4)


_SIZE = ((256, 3, 1, 10), (257, 3, 1, 10))


def zipped(content: bytes, stated: int, more: int = 0, members: int = 1) -> bytes:
    """Make an .npz whose index states `stated` bytes per member, which has `more` zeros more."""
    packing = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packing.compress(content) + packing.flush(zlib.Z_FULL_FLUSH)
    zeros = packing.compress(bytes(1 << 20)) + packing.flush(zlib.Z_FULL_FLUSH)
    packed += zeros * (more >> 20) + packing.flush()
    checksum = zlib.crc32(content[:stated])
    fields = (20, 0, 8, 0, 0, checksum, len(packed), stated, 5, 0)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", *fields) + b"x.npy" + packed
    index = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, *fields, 0, 0, 0, 0, 0) + b"x.npy"
    count = min(members, 0xFFFF)
    end = struct.pack(
        "<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(index) * members, len(local), 0
    )
    return local + index * members + end


def npz(values: np.ndarray) -> bytes:
    """Make a file with a compressed array."""
    return zip_bytes({"x.npy": array_bytes(values)})


def audio(rate: int, num_samples: int) -> bytes:
    """Make a WAV of silence."""
    return wav_header("PCM_16", rate, num_samples, 1) + bytes(2 * num_samples)


_NPY = array_bytes(np.zeros(250, np.uint8))
_TO_16_KHZ = AudioOptions(sample_rate=16_000)

FILES = {
    "WebP of 13,000² in 34 bytes": Hostile(
        "x.webp",
        lambda: saved("RGB", 13_000, "WEBP", lossless=True, method=0),
        "image too large",
        large=True,
    ),
    "WebP's canvas": Hostile("x.webp", lambda: webp(b"VP8X", 13_000), "image too large"),
    "WebP's lossless frame": Hostile("x.webp", lambda: webp(b"VP8L", 13_000), "image too large"),
    "WebP's lossy frame": Hostile("x.webp", lambda: webp(b"VP8 ", 13_000), "image too large"),
    "WebP of 6,600²": Hostile(
        "x.webp", lambda: saved("RGBA", 6_600, "WEBP", lossless=True, method=0)
    ),
    "JPEG 2000 of 9,000²": Hostile(
        "x.jp2", lambda: saved("RGB", 9_000, "JPEG2000"), "image too large", large=True
    ),
    "TIFF of 13,000²": Hostile(
        "x.tif",
        lambda: saved("RGB", 13_000, "TIFF", compression="tiff_lzw"),
        "image too large",
        large=True,
    ),
    "TIFF of one huge tile": Hostile(
        "x.tif",
        lambda: tiff(*_SIZE, (259, 3, 1, 5), (322, 4, 1, 25_600), (323, 4, 1, 25_600)),
        "image too large",
    ),
    "TIFF of tags that share a megabyte": Hostile(
        "x.tif",
        lambda: tiff(*((tag, 1, 1 << 20, 8) for tag in range(300, 5300)), more=bytes(1 << 20)),
        "damaged image",
    ),
    "big-endian TIFF of such tags": Hostile(
        "x.tif",
        lambda: tiff(
            *((tag, 1, 1 << 20, 8) for tag in range(300, 5300)), more=bytes(1 << 20), order=">"
        ),
        "damaged image",
    ),
    "JPEG of 5,000 scans": Hostile("x.jpg", lambda: jpeg_of_scans(5000), "unsupported image"),
    "progressive JPEG of all colours": Hostile(
        "x.jpg",
        lambda: resized_jpeg(13_000, progressive=True, subsampling="4:4:4"),
        "image too large",
    ),
    "JPEG that lies on its side": Hostile(
        "x.jpg", lambda: turned(saved("RGB", 13_000, "JPEG")), "image too large", large=True
    ),
    "JPEG of 9,400² that lies on its side": Hostile(
        "x.jpg", lambda: turned(saved("RGB", 9_400, "JPEG", subsampling="4:2:0"))
    ),
    "JPEG that is shrunk": Hostile(
        "x.jpg", lambda: saved("RGB", 13_000, "JPEG"), options=ImageOptions(max_side=500)
    ),
    "PNG that is shrunk": Hostile(
        "x.png",
        lambda: saved("L", 13_000, "PNG"),
        "image too large",
        ImageOptions(max_side=500),
        large=True,
    ),
    "PNG of 9,400² whose pixels are blended": Hostile(
        "x.png", lambda: saved("RGBA", 9_400, "PNG"), options=ImageOptions(format="jpeg")
    ),
    "WAV from 1 Hz": Hostile("x.wav", lambda: audio(1, 30_000), "unsupported audio", _TO_16_KHZ),
    "WAV that grows 320 times": Hostile(
        "x.wav", lambda: audio(50, 300_000), "audio too large", _TO_16_KHZ
    ),
    "WAV of 128 MB once it is resampled": Hostile(
        "x.wav", lambda: audio(50, 200_000), "", _TO_16_KHZ
    ),
    "npz that lies about its size": Hostile(
        "x.npz", lambda: zipped(_NPY, len(_NPY), 2 << 30), "damaged archive"
    ),
    "npz of a million members": Hostile(
        "x.npz", lambda: zipped(_NPY, len(_NPY), members=1_000_000), "damaged archive"
    ),
    "npz whose members overlap": Hostile(
        "x.npz", lambda: zipped(_NPY, len(_NPY), members=20), "damaged archive"
    ),
    "npz that unpacks to half a gigabyte": Hostile(
        "x.npz", lambda: npz(np.zeros(500 << 20, np.uint8)), "file too large", large=True
    ),
    "npz that unpacks to 120 MB": Hostile("x.npz", lambda: npz(np.zeros(120 << 20, np.uint8))),
    "npy of a deep header": Hostile(
        "x.npy",
        lambda: b"\x93NUMPY\1\0" + struct.pack("<H", 60_000) + b"(" * 60_000,
        "damaged array",
    ),
    "npy of a header with a name": Hostile(
        "x.npy", lambda: array_bytes(np.zeros(3)).replace(b"False", b"Fales"), "damaged array"
    ),
    "npy that states more than it has": Hostile(
        "x.npy",
        lambda: array_bytes(np.zeros(0)).replace(b"(0,)", b"(99999999,)"),
        "truncated array",
    ),
}
