"""Small valid files of every format, which cases mutate."""

import gzip
import io
import json
import tempfile
import wave
import zipfile
from pathlib import Path

import h5py
import numpy as np
from cases.inputs import make
from cases.reading import options_of_case
from file_bytes import array_bytes, exif_of, image_bytes, sound_bytes, written, zip_bytes
from PIL import Image

from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed

FOUND = Path(__file__).parent / "corpus"
CASES = Path(__file__).parents[1] / "cases"
GOLDEN = Path(__file__).parents[1] / "testdata/golden/1.0.0"
# Layouts with a case that is not an error; a new layout needs only such a case.
LAYOUTS = sorted({path.parents[1].name for path in CASES.glob("*/*/expected.jsonl")})
OPTIONS = "options"
SHARD = "golden-train.tfrecord-00000-of-00002"


def images(file_format: str, *modes: str, **options: object) -> list[bytes]:
    """Images of blocks in these modes."""
    blocks = np.random.default_rng(0).integers(0, 256, (6, 8, 4), np.uint8)
    return [
        image_bytes(
            Image.fromarray(blocks, "RGBA").resize((16, 12)).convert(mode), file_format, **options
        )
        for mode in modes
    ]


def jpegs() -> list[bytes]:
    """Baseline, progressive, grey, CMYK, and one rotated by its orientation."""
    return [
        *images("JPEG", "RGB", "L", "CMYK"),
        *images("JPEG", "RGB", progressive=True),
        *images("JPEG", "RGB", exif=exif_of(6), restart_marker_blocks=1),
    ]


def webps() -> list[bytes]:
    """Lossy and lossless."""
    return [*images("WEBP", "RGB", "RGBA"), *images("WEBP", "RGBA", lossless=True)]


def plain_images() -> list[bytes]:
    """GIF, BMP and TIFF, in colours and in grey."""
    return [image for kind in ("GIF", "BMP", "TIFF") for image in images(kind, "RGB", "L")]


def other_images() -> list[bytes]:
    """Formats of further Pillow plugins: PPM, JPEG 2000, AVIF."""
    return [
        *images("PPM", "RGB", "L", "1"),
        *images("JPEG2000", "RGB", "LA"),
        *images("AVIF", "RGB", "RGBA"),
    ]


def sounds(file_format: str, *subtypes: str) -> list[bytes]:
    """Two channels of a ramp, in these encodings."""
    ramp = np.linspace(-0.5, 0.5, 600).reshape(300, 2)
    return [sound_bytes(ramp, file_format, subtype=subtype) for subtype in subtypes]


def waves() -> list[bytes]:
    """WAV of integers and floats, and as written by Python's own module."""
    out = io.BytesIO()
    with wave.open(out, "wb") as handle:
        handle.setparams((1, 1, 100, 0, "NONE", ""))
        handle.writeframes(bytes(range(128)))
    return [*sounds("WAV", "PCM_16", "PCM_24", "FLOAT", "ULAW"), out.getvalue()]


def npys() -> list[bytes]:
    """Arrays of several types and orders."""
    arrays = (
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=">i8").reshape(3, 2)),
        np.array(["a", "bc"]),
        np.array(3, np.uint8),
        np.zeros((0, 4)),
    )
    return [array_bytes(array) for array in arrays]


def npzs() -> list[bytes]:
    """One array each, stored and compressed."""
    x = np.arange(40, dtype=np.int16).reshape(4, 10)
    return [written(save, x=x) for save in (np.savez, np.savez_compressed)]


def zips() -> list[bytes]:
    """Stored, deflated, with folders and a comment, zip64, and appended to a program."""
    made = []
    for method, wide in ((zipfile.ZIP_STORED, False), (zipfile.ZIP_DEFLATED, True)):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            archive.comment = b"a comment"
            archive.writestr("cat/", b"")
            for name in ("cat/a.txt", "dog/b.txt", "c.txt"):
                with archive.open(name, "w", force_zip64=wide) as member:
                    member.write(name.encode() * 30)
        made += [buffer.getvalue(), b"#!/bin/sh\n" + buffer.getvalue()]
    return made


def hdf5s() -> list[bytes]:
    """Arrays in groups: contiguous, chunked, compressed; older and newer formats."""
    made = []
    for chunks in ({}, {"chunks": (2, 3)}, {"chunks": (2, 3), "compression": "gzip"}):
        for libver in ("earliest", "latest"):
            buffer = io.BytesIO()
            with h5py.File(buffer, "w", libver=libver) as file:
                file.create_dataset("x", data=np.arange(24.0).reshape(8, 3), **chunks)
                file["deep/y"] = np.arange(8, dtype=np.uint8)
            made.append(buffer.getvalue())
    return made


def examples() -> list[bytes]:
    """Serialized Examples."""
    return [
        encode({"image": jpegs()[:1], "label": [3], "x": [0.5, 1.5], "caption": [b"a cat"]}),
        encode({"a": [1], "empty": []}, {"empty": "int64"}),
        encode({"wav": [waves()[0]], "png": images("PNG", "L"), "n": [1 << 40, -1]}),
    ]


def records() -> list[bytes]:
    """TFRecord files, plain and gzip."""
    plain = b"".join(map(framed, examples()))
    return [plain, plain * 2, gzip.compress(plain), (GOLDEN / SHARD).read_bytes()]


def schemas() -> list[bytes]:
    """Declarations of features, as a list and by name."""
    stated = json.loads((GOLDEN / "metadata.json").read_bytes())["features"]
    by_name = {"a": {"kind": "scalar", "dtype": "int64"}, "b": {"kind": "class_label"}}
    return [json.dumps(each).encode() for each in (stated, by_name)]


def mp3s() -> list[bytes]:
    """Sounds of a varying bitrate, alone and between tags."""
    [made] = sounds("MP3", "MPEG_LAYER_III")
    return [made, b"ID3\4\0\0\0\0\0\x20" + bytes(32) + made + b"TAG" + bytes(125)]


def trees(layout: str) -> list[bytes]:
    """The inputs of a layout's cases, as zips, each with its options."""
    made = []
    for case in sorted(each.parent for each in (CASES / layout).glob("*/input")):
        if (case / "error").exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "input"
            make(case / "input", root)
            files = {str(path.relative_to(folder)): path for path in sorted(root.rglob("*"))}
            parts = {name: path.read_bytes() for name, path in files.items() if path.is_file()}
        if any(parts.values()):
            made.append(zip_bytes({**parts, OPTIONS: options_of_case(case).encode()}))
    return made


def maps() -> list[bytes]:
    """Class numbers in grey and palette images."""
    levels = Image.fromarray(np.arange(60, dtype=np.uint8).reshape(6, 10))
    return [image_bytes(levels.convert(mode)) for mode in ("L", "P", "1", "RGB")]


def golden(name: str) -> list[bytes]:
    """A file of a built dataset."""
    return [(GOLDEN / name).read_bytes()]
