"""Classes of boxes for detection: label_map.pbtxt and label_map.csv; ids start at 1."""

import csv
import io
import re
from collections.abc import Sequence

from google.protobuf.text_encoding import CEscape

from tfrecord_dataset.format.feature import Feature

# Spreadsheets take these for a formula, unless a number follows a sign.
_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.,]*$)")


def texts(schema: Sequence[Feature]) -> dict[str, str]:
    """Render label maps for the TF Object Detection API and Model Garden; none without boxes."""
    classes = next((feature.classes for feature in schema if feature.kind == "boxes"), ())
    if not classes:
        return {}
    return {"label_map.pbtxt": protobuf_text(classes), "label_map.csv": csv_text(classes)}


def protobuf_text(classes: Sequence[str]) -> str:
    """Render a StringIntLabelMap.

    Source: object_detection/protos/string_int_label_map.proto. Strings use the escapes of
    protobuf's text format, as some of its parsers do not support those of JSON.
    """
    items = (
        (number, CEscape(name.encode(), as_utf8=True)) for number, name in enumerate(classes, 1)
    )
    return "".join(f'item {{\n  id: {number}\n  name: "{name}"\n}}\n' for number, name in items)


def csv_text(classes: Sequence[str]) -> str:
    """Render rows `id,name`, without a header, which Model Garden would take for a class.

    An apostrophe escapes a class that a spreadsheet would run as a formula (`=1+1`).
    Source: official/vision/dataloaders/tf_example_label_map_decoder.py.
    """
    text = io.StringIO()
    names = (f"'{name}" if _FORMULA.match(name) else name for name in classes)
    csv.writer(text, lineterminator="\n").writerows(enumerate(names, 1))
    return text.getvalue()
