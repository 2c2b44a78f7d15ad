"""The classes of boxes for detection: label_map.pbtxt and label_map.csv; ids start at 1."""

import csv
import io
from collections.abc import Sequence

from google.protobuf.text_encoding import CEscape

from tfrecord_dataset.feature import Feature


def texts(schema: Sequence[Feature]) -> dict[str, str]:
    """By file name, for the TF Object Detection API and for Model Garden; none without boxes."""
    classes = next((feature.classes for feature in schema if feature.kind == "boxes"), ())
    if not classes:
        return {}
    return {"label_map.pbtxt": protobuf_text(classes), "label_map.csv": csv_text(classes)}


def protobuf_text(classes: Sequence[str]) -> str:
    """The text of a StringIntLabelMap.

    Source: object_detection/protos/string_int_label_map.proto. Strings are escaped as
    protobuf's text format has it, whose parsers do not all know the escapes of JSON.
    """
    items = (
        (number, CEscape(name.encode(), as_utf8=True)) for number, name in enumerate(classes, 1)
    )
    return "".join(f'item {{\n  id: {number}\n  name: "{name}"\n}}\n' for number, name in items)


def csv_text(classes: Sequence[str]) -> str:
    """Rows `id,name`, without a header, which Model Garden would take for a class.

    Source: official/vision/dataloaders/tf_example_label_map_decoder.py.
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(enumerate(classes, 1))
    return text.getvalue()
