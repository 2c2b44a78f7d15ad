"""Make the files of a case's input from a text that describes them.

    # What the case shows.
    == train/{cat,dog}/{1..3}.jpg
    == labels.csv
    image,label
    == old.csv escaped gzip
    image,label\\r\\na.jpg,\\xff\\r\\n
    == shards/0.tar/a.cls
    3

A line `== PATH FORM …` begins a file; `{a,b}` and `{1..3}` in its path expand to several files. The
lines below are the file's content unless a form applies: `escaped` is one line with Python's byte
escapes; `gzip`, `bz2`, `xz` and `zst` compress; `examples` is a TFRecord file with the features of
one Example per line; `parquet` has a line of Hugging Face features, then a JSON row per line, with
bytes of files as texts, in row groups of two; `arrow` is the same as an Arrow stream, `feather` as
a compressed file; `xlsx` is a workbook with a sheet's name and rows in JSON per line; `pixels` is
an image's mode and pixels in JSON, `L: [[0, 1]]`, encoded by the path's suffix, with VOC's palette
for `P`.
Files below a folder named `*.tar`, `*.zip` or `*.npz` are members of that file; an array is
`dtype: values` in JSON.
"""

import bz2
import codecs
import gzip
import io
import itertools
import json
import lzma
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
from file_bytes import (
    array_bytes,
    arrow_bytes,
    image_bytes,
    parquet_bytes,
    tar_bytes,
    written,
    zip_bytes,
)
from PIL import Image
from pyarrow import feather

from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed

VOC_PALETTE = [0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0, 0, 0, 128] + [224, 224, 192] * 251
_FILE = re.compile(
    r"^== (.*?)((?: (?:escaped|gzip|bz2|xz|zst|examples|parquet|arrow|feather|xlsx|pixels))"
    r"*)\n",
    re.MULTILINE,
)
_MEMBER = re.compile(r"(.*?\.(?:tar|zip|npz))/(.+)")


def make(described: Path, root: Path) -> None:
    """Writes the described files below `root`."""
    members: dict[str, list[tuple[str, bytes]]] = {}
    for path, content in _files(described.read_text("utf-8")):
        if member := _MEMBER.fullmatch(path):
            members.setdefault(member[1], []).append((member[2], content))
        else:
            _write(root / path, content)
    for path, contents in members.items():
        _write(root / path, _PACKED[path.rpartition(".")[2]](contents))


def _files(text: str) -> Iterator[tuple[str, bytes]]:
    _, *parts = _FILE.split(text)
    for pattern, forms, content in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        data = content.encode()
        for form in forms.split():
            data = _pixels(content, pattern) if form == "pixels" else _FORMS[form](data)
        for path in _expanded(pattern):
            yield path, _array(content) if content and path.endswith(".npy") else data


def _expanded(pattern: str) -> Iterator[str]:
    """Expand a pattern into paths."""
    parts = re.split(r"\{(.+?)\}", pattern)
    choices = [_choices(part) if at % 2 else [part] for at, part in enumerate(parts)]
    return map("".join, itertools.product(*choices))


def _choices(text: str) -> list[str]:
    first, dots, last = text.partition("..")
    return [str(each) for each in range(int(first), int(last) + 1)] if dots else text.split(",")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _examples(lines: bytes) -> bytes:
    return b"".join(framed(encode(json.loads(line))) for line in lines.splitlines())


def _feather(lines: bytes) -> bytes:
    table = _table(lines)
    return written(lambda file: feather.write_feather(table, file, "lz4", chunksize=2))


def _table(lines: bytes) -> pa.Table:
    features, *rows = map(json.loads, lines.splitlines())
    table = pa.Table.from_pylist([_with_bytes(row) for row in rows])
    if features:
        stated = json.dumps({"info": {"features": features}})
        table = table.replace_schema_metadata({"huggingface": stated})
    return table


def _xlsx(lines: bytes) -> bytes:
    sheets = [json.loads(line) for line in lines.splitlines()]
    parts = {name: text.encode() for name, text in workbook_parts(sheets).items()}
    return zip_bytes(parts, zipfile.ZIP_STORED)


def workbook_parts(sheets: list[tuple[str, list[list[Any]]]]) -> dict[str, str]:
    """The parts of a workbook (ECMA-376) by name; zipped, they are the workbook.

    Args:
        sheets: (name, rows) of each sheet.
    """
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    numbered = [*enumerate(sheets, start=1)]
    tags = [
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="r{n}"/>' for n, (name, _) in numbered
    ]
    links = [
        f'<Relationship Id="r{n}" Type="{office}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n, _ in numbered
    ]
    return {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{"".join(tags)}'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f"{''.join(links)}</Relationships>",
    } | {
        f"xl/worksheets/sheet{n}.xml": f'<worksheet xmlns="{main}"><sheetData>'
        f"{''.join(_xlsx_row(at, row) for at, row in enumerate(rows, start=1))}"
        "</sheetData></worksheet>"
        for n, (_, rows) in numbered
    }


def _xlsx_row(number: int, row: list[Any]) -> str:
    cells = []
    for letter, value in zip("ABCDEFGHIJ", row, strict=False):
        place = f"{letter}{number}"
        if isinstance(value, bool):
            cells.append(f'<c r="{place}" t="b"><v>{int(value)}</v></c>')
        elif isinstance(value, str):
            cells.append(f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>')
        elif value is not None:
            cells.append(f'<c r="{place}"><v>{value}</v></c>')
    return f'<row r="{number}">{"".join(cells)}</row>'


def _with_bytes(value: Any) -> Any:
    """Convert the `bytes` of files in a value from text to bytes."""
    if isinstance(value, list):
        return list(map(_with_bytes, value))
    if not isinstance(value, dict):
        return value
    return {
        name: each.encode("latin-1") if name == "bytes" and each else _with_bytes(each)
        for name, each in value.items()
    }


def _pixels(content: str, path: str) -> bytes:
    mode, _, values = content.partition(":")
    image = Image.fromarray(np.array(json.loads(values), "uint16" if mode == "I;16" else "uint8"))
    if mode == "P":
        image.putpalette(VOC_PALETTE)
    if mode == "1":
        image = image.point(lambda value: 255 * value).convert("1")
    ending = path.rpartition(".")[2]
    return image_bytes(image, {"jpg": "JPEG", "tif": "TIFF"}.get(ending, ending))


_FORMS = {
    "escaped": lambda data: codecs.escape_decode(data.removesuffix(b"\n"))[0],
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
    "examples": _examples,
    "xlsx": _xlsx,
    "parquet": lambda lines: parquet_bytes(_table(lines), row_group_size=2),
    "arrow": lambda lines: arrow_bytes(_table(lines)),
    "feather": _feather,
}


def _npz(members: list[tuple[str, bytes]]) -> bytes:
    arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(data)) for name, data in members}
    return written(np.savez, **arrays)


_PACKED = {
    "tar": tar_bytes,
    "zip": lambda members: zip_bytes(members, zipfile.ZIP_STORED),
    "npz": _npz,
}


def _array(text: str) -> bytes:
    dtype, _, values = text.partition(":")
    return array_bytes(np.array(json.loads(values), dtype))
