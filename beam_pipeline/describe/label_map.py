"""label_map.pbtxt, as the TF Object Detection API reads it."""

import json
from collections.abc import Iterable


def label_map(classes: Iterable[str]) -> str:
    """The text of a StringIntLabelMap; ids start at 1.

    Source: object_detection/protos/string_int_label_map.proto. A text-format string takes
    the escapes that JSON's has.
    """
    return "".join(
        f"item {{\n  id: {number}\n  name: {json.dumps(name)}\n}}\n"
        for number, name in enumerate(classes, 1)
    )
