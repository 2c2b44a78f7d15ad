"""JSON and XML files that no layout reads: whose they are by how they begin, and what helps."""

import re
from collections.abc import Sequence

from beam_pipeline.files import storage
from beam_pipeline.sources.beside import shown
from beam_pipeline.sources.paths import suffix
from beam_pipeline.sources.tree import head

_KEY = re.compile(rb'"([^"\\]{1,40})"\s*:')
_TAG = re.compile(rb"<([A-Za-z][\w.-]{0,40})[\s/>]")
_MAX_KEYS = 4
_FILES_LOOKED_INTO = 5
_ENDINGS = ("json", "jsonl", "geojson", "labels", "xml")


# What would be taken for COCO's or a table.
_MISTAKEN = {
    "Hasty": re.compile(rb'"export_format_version"\s*:'),
    "Encord": re.compile(rb'"label_hash"\s*:'),
    "Kili": re.compile(rb'"(jsonMetadata|jsonResponse)"\s*:'),
    "Scale": re.compile(rb'"task_id"\s*:[^\0]*"attachment"\s*:'),
    "Datumaro": re.compile(rb'"categories"\s*:\s*\{\s*"(label|points|mask)"\s*:\s*\{'),
    "V7 Darwin": re.compile(rb'"schema_ref"\s*:\s*"[^"]*darwin'),
    "Labelbox": re.compile(rb'"(data_row|Labeled Data)"\s*:'),
    "FiftyOne": re.compile(rb'"_cls"\s*:\s*"(Detections?|Classifications?)"'),
    "Cityscapes": re.compile(rb'"imgHeight"\s*:'),
}
# How files begin, by whose they are.
SIGNS = {
    **_MISTAKEN,
    "SuperAnnotate": re.compile(rb'"metadata"\s*:\s*\{[^\0]*"instances"\s*:'),
    "Azure ML": re.compile(rb'"image_url"\s*:[^\n]*"label"\s*:'),
    "RectLabel": re.compile(rb'"image_w_h"\s*:'),
    "Edge Impulse": re.compile(rb'"boundingBoxes"\s*:'),
    "TT100K": re.compile(
        rb'\A\s*\{\s*("types"\s*:\s*\[|"imgs"\s*:\s*\{\s*"\d+"\s*:\s*\{\s*"(path|objects)")'
    ),
    "HRSC2016": re.compile(rb"<HRSC_Image\b"),
    "COCO-Text or TextOCR": re.compile(rb'"imgs"\s*:\s*\{|"utf8_string"\s*:'),
    "xView": re.compile(rb'"bounds_imcoords"\s*:'),
    "DeepFashion2": re.compile(rb'"item\d+"\s*:\s*\{[^\0]*"bounding_box"\s*:'),
    "FiftyOne": re.compile(
        _MISTAKEN["FiftyOne"].pattern + rb'|\A\s*\{\s*"classes"\s*:\s*(null|\[)[^\0]*"labels"\s*:'
    ),
    "FUNSD": re.compile(rb'\A\s*\{\s*"form"\s*:'),
    "GeoJSON": re.compile(rb'"type"\s*:\s*"FeatureCollection"'),
}


def is_of_a_format(start: bytes) -> bool:
    """Whether a file that begins so is of a program whose files are no tables."""
    return any(sign.search(start) for sign in _MISTAKEN.values())


def described(root: str, paths: Sequence[str]) -> str:
    """What the first JSON or XML files among `paths`, below `root`, are; "" where there is none.

    Of those that are looked into, one of a format that is known.
    """
    looked = [path for path in paths if suffix(path) in _ENDINGS][:_FILES_LOOKED_INTO]
    starts = {path: head(storage.join(root, path)) for path in looked}
    for path, start in starts.items():
        for name, sign in SIGNS.items():
            if sign.search(start):
                return (
                    f"{shown(path)} is of {name}: export or convert it as COCO, or write a "
                    "table with a row per file (docs/manifests.md)"
                )
    for path, start in starts.items():
        found = (_TAG if suffix(path) == "xml" else _KEY).findall(start)
        if keys := [key.decode(errors="replace") for key in dict.fromkeys(found)][:_MAX_KEYS]:
            return (
                f"{shown(path)} holds {', '.join(keys)}: write what such files say into a table "
                "with a row per file (docs/manifests.md)"
            )
    return ""
