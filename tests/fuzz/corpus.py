"""Small right files of every format, which cases are changes of."""

import gzip
import io
import json
import struct
import tarfile
import tempfile
import wave
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import soundfile
from cases.inputs import database, make, workbook_parts
from PIL import Image

from fuzz import sealing
from tfrecord_dataset.example import encode

FOUND = Path(__file__).parent / "corpus"
CASES = Path(__file__).parents[1] / "cases"
GOLDEN = Path(__file__).parents[1] / "testdata/golden/1.0.0"
SHARD = "golden-train.tfrecord-00000-of-00002"

_VOC = """<?xml version="1.0"?>
<annotation><filename>a.jpg</filename><size><width>16</width><height>12</height><depth>3</depth>
</size><object><name>cat</name><difficult>0</difficult><truncated>1</truncated><pose>Left</pose>
<bndbox><xmin>5</xmin><ymin>6.5</ymin><xmax>15</xmax><ymax>11</ymax></bndbox></object></annotation>
"""
_COCO = {
    "info": {},
    "images": [
        {"id": 1, "file_name": "a.jpg", "width": 40, "height": 30},
        {"id": 2, "file_name": "b.jpg"},
    ],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2.5, 3, 4], "area": 9, "iscrowd": 0},
        {"id": 2, "image_id": 1, "category_id": 3, "segmentation": [[1, 2, 3, 4, 5, 6]]},
        {"id": 3, "image_id": 2, "category_id": 1, "bbox": [1, 1, 2, 2], "keypoints": [1, 2, 2]},
    ],
    "categories": [{"id": 1, "name": "cat", "keypoints": ["nose"]}, {"id": 3, "name": "dog"}],
}
_YAML = "path: .\ntrain: images\nnc: 2\nnames:\n  0: cat\n  1: dog\nkpt_shape: [2, 3]\n"
_YAML_LIST = "train: [images, more]\nval: images\nnames: [cat, 'dog']\n"
_SCHEMA = "- {name: a, kind: scalar, dtype: float32}\n- {name: b, kind: class_label}\n"
_CSV = 'image,label,x,list\na.jpg,cat,1.5,"[1, 2]"\nb.jpg,dog,2,"[3, 4]"\n"c ""d"".jpg",cat,,"[]"\n'
_TABLE = "xmin;ymin;xmax;ymax;image;class\n1;2;3;4;a.jpg;cat\n5;6;7;8;a.jpg;dog\n;;;;b.jpg;\n"
_ROWS = (
    {"image": "a.jpg", "label": "cat", "x": 1, "v": [1.5, 2], "boxes": [[1, 2, 3, 4]]},
    {"image": "b.jpg", "label": None, "x": 2.5, "v": [], "boxes": [], "t": "é"},
)
_HF = {"image": "a.jpg", "objects": {"bbox": [[1, 2, 3, 4]], "categories": [0], "area": [4]}}


def images(file_format: str, *modes: str, **options: object) -> list[bytes]:
    """Images of blocks in these modes."""
    blocks = np.random.default_rng(0).integers(0, 256, (6, 8, 4), np.uint8)
    return [
        _saved(Image.fromarray(blocks, "RGBA").resize((16, 12)).convert(mode), file_format, options)
        for mode in modes
    ]


def _saved(image: Image.Image, file_format: str, options: dict[str, object]) -> bytes:
    out = io.BytesIO()
    image.save(out, file_format, **options)
    return out.getvalue()


def jpegs() -> list[bytes]:
    """Baseline, progressive, grey, four colours, and one that lies on its side."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return [
        *images("JPEG", "RGB", "L", "CMYK"),
        *images("JPEG", "RGB", progressive=True),
        *images("JPEG", "RGB", exif=exif, restart_marker_blocks=1),
    ]


def other_images() -> list[bytes]:
    """What Pillow's further plugins read: PPM, JPEG 2000, AVIF, ICO, QOI, DDS, SGI, PSD."""
    psd = b"8BPS" + struct.pack(">H6xHIIHH", 1, 3, 12, 16, 8, 3) + bytes(14) + bytes(range(192)) * 3
    return [
        *images("PPM", "RGB", "L", "1"),
        *images("JPEG2000", "RGB", "LA"),
        *images("AVIF", "RGB", "RGBA"),
        *images("ICO", "RGBA", sizes=[(16, 12)]),
        *images("QOI", "RGBA"),
        *images("DDS", "RGBA"),
        *images("SGI", "RGB"),
        psd,
    ]


def sounds(file_format: str, *subtypes: str) -> list[bytes]:
    """Two channels of a ramp, in these encodings."""
    made = []
    for subtype in subtypes:
        out = io.BytesIO()
        ramp = np.linspace(-0.5, 0.5, 600).reshape(300, 2)
        soundfile.write(out, ramp, 8000, format=file_format, subtype=subtype)
        made.append(out.getvalue())
    return made


def waves() -> list[bytes]:
    """Of whole numbers and floats, and as Python's own module writes it."""
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
    return [_npy(array) for array in arrays]


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def parquets() -> list[bytes]:
    """Files in structs with classes of Hugging Face's, boxes in lists; a table of every type."""
    of_files, rows = tables()
    return [
        _parquet(of_files, compression="snappy"),
        _parquet(rows, compression="zstd", row_group_size=2),
        _parquet(rows, compression="none", use_dictionary=False),
    ]


def arrows() -> list[bytes]:
    """The same as streams and files of Arrow, plain and packed."""
    of_files, rows = tables()
    return [
        _arrow(pa.ipc.new_stream, of_files),
        _arrow(pa.ipc.new_stream, rows, compression="zstd"),
        _arrow(pa.ipc.new_file, rows),
        _arrow(pa.ipc.new_file, of_files, compression="lz4"),
    ]


def _arrow(new: Any, table: pa.Table, **options: Any) -> bytes:
    buffer = io.BytesIO()
    with new(buffer, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as out:
        out.write_table(table, max_chunksize=2)
    return buffer.getvalue()


def tables() -> tuple[pa.Table, pa.Table]:
    """One of images and boxes, and one of values of every type."""
    told = {
        "image": {"_type": "Image"},
        "label": {"_type": "ClassLabel", "names": ["cat", "dog"]},
    }
    files = [{"bytes": data, "path": "a.png"} for data in images("PNG", "RGB", "L")]
    boxes = {"bbox": [[1.0, 2.0, 3.0, 4.0]], "category": ["cat"]}
    of_files = pa.table({"image": files, "label": [0, 1], "objects": [boxes, boxes]})
    rows = {
        "x": [1, 2, 3],
        "v": [[1.5, 2.0], [], [3.0]],
        "t": ["é", "long " * 3000, None],
        "d": pa.array(["a", "b", "a"]).dictionary_encode(),
        "when": pa.array([0, 1, 2], pa.timestamp("us")),
        "talk": [[{"role": "user", "said": "hi"}], [], None],
    }
    metadata = {"huggingface": json.dumps({"info": {"features": told}})}
    return of_files.replace_schema_metadata(metadata), pa.table(rows)


def _parquet(table: pa.Table, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def npzs() -> list[bytes]:
    """One array each, stored and packed."""
    made = []
    for save in (np.savez, np.savez_compressed):
        out = io.BytesIO()
        save(out, x=np.arange(40, dtype=np.int16).reshape(4, 10))
        made.append(out.getvalue())
    return made


def zips() -> list[bytes]:
    """Stored, deflated, with folders and a comment, zip64, and behind a program."""
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
    """Arrays in groups: as they lie, in chunks, compressed; of older and newer forms."""
    made = []
    for chunks in ({}, {"chunks": (2, 3)}, {"chunks": (2, 3), "compression": "gzip"}):
        for libver in ("earliest", "latest"):
            buffer = io.BytesIO()
            with h5py.File(buffer, "w", libver=libver) as file:
                file.create_dataset("x", data=np.arange(24.0).reshape(8, 3), **chunks)
                file["deep/y"] = np.arange(8, dtype=np.uint8)
            made.append(buffer.getvalue())
    return made


def idxs() -> list[bytes]:
    """Two images of one channel, and of three; compressed, too."""
    grey = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 3]) + bytes(range(24))
    colours = bytes([0, 0, 8, 4, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + bytes(range(24))
    return [grey, colours, gzip.compress(grey, mtime=0)]


def tars() -> list[bytes]:
    """Members of two records in the three formats of tar."""
    made = []
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as archive:
            for name, data in (
                (f"{key}.{suffix}", data)
                for key in ("a", f"{'long/' * 19}b")
                for suffix, data in (
                    ("jpg", jpegs()[0]),
                    ("cls", b"3"),
                    ("json", b'{"x": 1, "y": [1, 2]}'),
                    ("txt", "é".encode()),
                    ("npy", npys()[0]),
                )
            ):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        made.append(out.getvalue())
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
    plain = b"".join(map(sealing.frame, examples()))
    return [plain, plain * 2, gzip.compress(plain), (GOLDEN / SHARD).read_bytes()]


def texts(*several: object) -> list[bytes]:
    """Texts as UTF-8; what is none, as JSON."""
    return [(each if isinstance(each, str) else json.dumps(each)).encode() for each in several]


def annotations() -> list[bytes]:
    """Pascal VOC's XML."""
    return texts(
        _VOC, _VOC.replace("<object>", "<!-- x --><object>").replace(">cat<", ">a &amp; b<")
    )


def cocos() -> list[bytes]:
    """COCO's JSON, with the categories first or last."""
    return texts(_COCO, dict(reversed(_COCO.items())))


def cocos_of_captions() -> list[bytes]:
    """COCO's JSON of captions."""
    said = [{"id": n, "image_id": 1, "caption": text} for n, text in enumerate(["A dog.", " "])]
    return texts({"images": _COCO["images"], "annotations": said})


def cocos_of_maps() -> list[bytes]:
    """COCO's JSON of panoptic segmentation."""
    segments = [{"id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}, {"id": 65794, "category_id": 1}]
    maps = [{"image_id": n, "file_name": "a.png", "segments_info": segments} for n in (1, 2)]
    categories = [{"id": 1, "name": "cat", "isthing": 1}, {"id": 2, "name": "sky", "isthing": 0}]
    return texts({"images": _COCO["images"], "annotations": maps, "categories": categories})


def yamls() -> list[bytes]:
    """YOLO's data.yaml, and declarations of features."""
    return texts(_YAML, _YAML_LIST, _SCHEMA)


def schemas() -> list[bytes]:
    """Declarations of features, as a list and by name."""
    stated = json.loads((GOLDEN / "metadata.json").read_bytes())["features"]
    return texts(stated, {"a": {"kind": "scalar", "dtype": "int64"}, "b": {"kind": "class_label"}})


def labels() -> list[bytes]:
    """YOLO's label files."""
    box = "0 0.5 0.5 0.25 0.25\n"
    return texts(box * 3 + "\n1 0.1 0.1 0.2 0.1 0.2 0.2\n", box.strip() + " 0.5 0.5 2 0.1 0.1 1\n")


def kittis() -> list[bytes]:
    """KITTI's label files, without and with a score."""
    rows = [f"{name} 0.5 1 -1.5 1 2 3.5 4 1.5 1.6 3.9 1 2 8 -1.6" for name in ("Car", "DontCare")]
    return texts("\n".join(rows), "".join(f"{row} 0.9\n" for row in rows))


def mp3s() -> list[bytes]:
    """Sounds of a varying bitrate, alone and between tags."""
    [made] = sounds("MP3", "MPEG_LAYER_III")
    return [made, b"ID3\4\0\0\0\0\0\x20" + bytes(32) + made + b"TAG" + bytes(125)]


def captions() -> list[bytes]:
    """Flickr8k's list, and one with a header."""
    return [
        b'a.jpg#0\tA "black" dog .\na.jpg#1\tTwo dogs\nb.jpg#0\tEin M\xc3\xa4dchen\n',
        b"image| comment_number| comment\na.jpg| 0| A dog\na.jpg| 1| Two\n",
    ]


def caption_texts() -> list[bytes]:
    """Captions of an image, a line each."""
    return [b"a dog\n\n two dogs \n", b"\xef\xbb\xbfEin M\xc3\xa4dchen"]


def cubs() -> list[bytes]:
    """CUB-200-2011's lists, each below its name."""
    lists = {
        "images.txt": "1 a/1.jpg\n2 b/2.jpg\n",
        "image_class_labels.txt": "1 1\n2 2\n",
        "classes.txt": "1 a\n2 b\n",
        "train_test_split.txt": "1 0\n2 1\n",
        "bounding_boxes.txt": "1 60.0 27.0 325.0 304.0\n2 1 2 3 4\n",
    }
    return ["".join(f"== {name}\n{text}" for name, text in lists.items()).encode()]


def split_lists() -> list[bytes]:
    """Names of files, with numbers behind them, and with those of their splits."""
    return [b"a.jpg\nb.jpg\n", b"cat\\1.jpg\r\n./b 1 2\n", b"a 1 1 1\nb 2 2 1\n", b"a.jpg 0\nb 1\n"]


def spoken_lines() -> list[bytes]:
    """What is said in a chapter."""
    return [b"84-0 AND SO\n84-1 NO MORE\n", b"84-0  Ein M\xc3\xa4dchen\r\n\n"]


def imagenet_tables() -> list[bytes]:
    """Kaggle's, with one and with several boxes an image."""
    return [b"ImageId,PredictionString\nval_1,n01440764 1 2 3 4\nval_2,n0 1 2 3 4 n0 5 6 7 8 \n"]


def labelmes() -> list[bytes]:
    """LabelMe's files, with and without the image in them."""
    shapes = [
        {"label": "cat", "points": [[1, 2], [9.5, 3], [4, 8]], "shape_type": "polygon"},
        {"label": "dog", "points": [[9, 8], [1, 2]], "shape_type": "rectangle", "group_id": 1},
        {"label": "tail", "points": [[3, 4]], "shape_type": "point", "flags": {"hidden": True}},
    ]
    value = {"shapes": shapes, "imagePath": "a.png", "imageWidth": 16, "imageHeight": 12}
    return texts(value, {**value, "imageData": "aGVsbG8=", "flags": {"night": False}})


def of_cases(layout: str, ending: str) -> list[bytes]:
    """The files of the layout's `tests/cases` whose paths end so."""
    found = set()
    for case in sorted((CASES / layout).glob("*/input")):
        with tempfile.TemporaryDirectory() as folder:
            make(case, Path(folder))
            files = (path for path in Path(folder).rglob("*") if str(path).endswith(ending))
            found.update(path.read_bytes() for path in files)
    return sorted(found - {b""})


def maps() -> list[bytes]:
    """Numbers of classes in greys and palettes."""
    levels = Image.fromarray(np.arange(60, dtype=np.uint8).reshape(6, 10))
    return [_saved(levels.convert(mode), "PNG", {}) for mode in ("L", "P", "1", "RGB")]


def class_tables() -> list[bytes]:
    """Names of classes with colours or numbers."""
    ade = "Idx\tRatio\tTrain\tVal\tName\n1\t0.1\t9\t9\twall\n2\t0.1\t6\t6\tbuilding, edifice\n"
    camvid, cvat = "name,r,g,b\nsky,0,1,2\nroad,9,9,9\n", "# label:color_rgb\nsky:0,1,2::\n"
    return texts(camvid, "Pixel Value, Class\n0, sky\n1, car\n", cvat, "0 1 2\tsky\n", ade)


_MASKS = "image,EncodedPixels,ClassId,width,height\n" + "a.jpg,3 2 7 1,3,4,3\na.jpg,,,4,3\n"


def csvs() -> list[bytes]:
    """Tables of images, of boxes, of numbers."""
    return texts(_CSV, _TABLE, "a\tb\n" + "1\t2.5\n" * 5, "t\n" + '"x\ny"\n' * 3, _MASKS)


def class_maps() -> list[bytes]:
    """Names of classes by number: an object, a table of two columns, and lines."""
    names = {"0": "cat", "10": "dog, \u00e9", "2": "owl"}
    return [
        json.dumps(names).encode(),
        "".join(f'{code},"{name}"\n' for code, name in names.items()).encode(),
        "".join(f"{code} {name}\n" for code, name in names.items()).encode(),
    ]


def jsonls() -> list[bytes]:
    """JSON Lines as people and as Hugging Face write them."""
    return ["".join(f"{json.dumps(row)}\n" for row in rows).encode() for rows in (_ROWS, [_HF])]


def json_lists() -> list[bytes]:
    """The same rows as a list, and as one in an object."""
    return texts([*_ROWS], {"version": 1, "data": [*_ROWS]}, [_HF])


def packed(pack: Callable[[bytes], bytes]) -> list[bytes]:
    """Tables that are compressed."""
    return list(map(pack, csvs()))


def databases() -> list[bytes]:
    """Tables of images and of values in SQLite."""
    png = images("PNG", "L")[0].hex()
    rows = ", ".join(f"({n}, 'é {n}', {n}.5, x'{png}')" for n in range(200))
    return [
        database(
            f"CREATE TABLE a (x, t, y REAL, image BLOB); INSERT INTO a VALUES {rows}".encode()
        ),
        database(b"CREATE TABLE a (x INTEGER PRIMARY KEY, label); INSERT INTO a VALUES (1, 'b')"),
    ]


def workbooks() -> list[bytes]:
    """Tables as sheets, plain and packed."""
    rows = [["x", "label", "ok"], [1, "a", True], [2.5, "é", True], [], [3, "b", False]]
    made = []
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        parts = workbook_parts([("One", rows), ("Two", [])])
        made.append(zipped({name: text.encode() for name, text in parts.items()}, compression))
    return made


def zipped(parts: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return out.getvalue()


def golden(*names: str) -> list[bytes]:
    """Files of a dataset that was built."""
    return [(GOLDEN / name).read_bytes() for name in names]
