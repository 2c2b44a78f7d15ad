"""label_map.pbtxt, as the TF Object Detection API reads it."""

from collections.abc import Iterable

from google.protobuf.text_encoding import CEscape


def label_map(classes: Iterable[str]) -> str:
    """The text of a StringIntLabelMap; ids start at 1.

    Source: object_detection/protos/string_int_label_map.proto. Strings are escaped as
    protobuf's text format has it, whose parsers do not all know the escapes of JSON.
    """
    items = (
        (number, CEscape(name.encode(), as_utf8=True)) for number, name in enumerate(classes, 1)
    )
    return "".join(f'item {{\n  id: {number}\n  name: "{name}"\n}}\n' for number, name in items)
