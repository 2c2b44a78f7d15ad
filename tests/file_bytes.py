"""Files written by libraries, as bytes: images, arrays, audio, tables, zips and tars."""

import io
import json
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import soundfile
from PIL import Image


def written(write: Callable[..., Any], *more: Any, **options: Any) -> bytes:
    """Return what `write` writes to the file that is its first argument."""
    file = io.BytesIO()
    write(file, *more, **options)
    return file.getvalue()


def image_bytes(image: Image.Image | np.ndarray, file_format: str = "PNG", **options: Any) -> bytes:
    """Encode an image or pixels, with options of Pillow's `save`."""
    image = Image.fromarray(image) if isinstance(image, np.ndarray) else image
    return written(image.save, file_format, **options)


def exif_of(orientation: int) -> Image.Exif:
    """Make Exif data with an orientation."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def png_chunk(kind: bytes, body: bytes) -> bytes:
    """Make a chunk of a PNG, with its length and checksum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def array_bytes(array: np.ndarray) -> bytes:
    """Make a .npy file."""
    return written(np.save, array)


def sound_bytes(samples: np.ndarray, file_format: str, rate: int = 8000, **options: Any) -> bytes:
    """Encode audio, with options of soundfile's `write`."""
    return written(soundfile.write, samples, rate, format=file_format, **options)


def photograph(seed: int) -> bytes:
    """Make a small PNG of noise."""
    return image_bytes(np.random.default_rng(seed).integers(0, 255, (12, 16, 3), np.uint8))


def photographs(count: int, first: int = 0) -> pa.Table:
    """Make a table of photographs like Hugging Face's, of three classes in no order."""
    names = ["zebra", "ant", "cat"]
    stated = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": names}}
    file = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    images = [{"bytes": photograph(first + n), "path": f"{n}.png"} for n in range(count)]
    labels = pa.array([n % 3 for n in range(count)])
    table = pa.table({"image": pa.array(images, file), "label": labels})
    return table.replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": stated}})}
    )


def parquet_bytes(table: pa.Table, **options: Any) -> bytes:
    """Make a Parquet file, with options of pyarrow's `write_table`."""
    return written(lambda file: pa.parquet.write_table(table, file, **options))


def arrow_bytes(table: pa.Table, new: Any = pa.ipc.new_stream, **options: Any) -> bytes:
    """Make an Arrow stream, or a file with `pyarrow.ipc.new_file`, with two rows per batch."""
    file = io.BytesIO()
    with new(file, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(table, max_chunksize=2)
    return file.getvalue()


Members = Mapping[Any, bytes] | Iterable[tuple[Any, bytes]]
"""Contents by name, or by what the library takes with more than a name."""


def _pairs(members: Members) -> Iterable[tuple[Any, bytes]]:
    return members.items() if isinstance(members, Mapping) else members


def zip_bytes(members: Members, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Make a zip; names without a time get a fixed one, so that equal members give equal bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for member, content in _pairs(members):
            named = zipfile.ZipInfo(member) if isinstance(member, str) else member
            archive.writestr(named, content, method if isinstance(member, str) else None)
    return file.getvalue()


def tar_bytes(members: Members, form: int = tarfile.DEFAULT_FORMAT) -> bytes:
    """Make a tar; a `TarInfo` with a size keeps it."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as archive:
        for member, content in _pairs(members):
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            info.size = info.size or len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()
