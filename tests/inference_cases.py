"""Features that both packages infer from keys of foreign Examples (rules: docs/dev/metadata.md).

A record has a list of values of one kind under the key. None is a list without a kind, MISSING a
record without the key.
"""

from typing import Any

import pytest

JPEG, PNG = b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n"
GIF, BMP = b"GIF89a", b"BM\x46\0\0\0\0\0\0\0"
WAV, FLAC, OGG = b"RIFF\x24\x00\x00\x00WAVEfmt ", b"fLaC\0", b"OggS\0"
MP3 = b"\xff\xfb\x90\x64\0"
RAW = b"\xff\0\1\2"
MISSING: Any = object()


def case(name: str, key: str, records: list[Any], expected: str) -> Any:
    """Make parameters `key`, `records`, `expected` (kind, dtype, shape, format, default)."""
    return pytest.param(key, records, expected, id=name)


CASES = [
    case("integers", "n", [[7], [70_000]], "scalar int64"),
    case("floats", "x", [[0.5], [float("nan")]], "scalar float32"),
    case("two integers each", "n", [[1, 2], [3, 4]], "tensor int64 2"),
    case("five floats each", "x", [[0.5] * 5] * 2, "tensor float32 5"),
    case("two strings each", "s", [[b"a", b"b"]] * 2, "tensor string 2"),
    case("more or fewer integers", "n", [[1, 2], [3]], "sequence int64 None"),
    case("more or fewer floats", "x", [[1.0] * 5, [2.0]], "sequence float32 None"),
    case("one or two strings", "s", [[b"a"], [b"a", b"b"]], "sequence string None"),
    case("without a kind in one", "n", [[1], None], "sequence int64 None"),
    case("missing in one", "x", [[1.0], MISSING], "sequence float32 None"),
    case("text, missing in one", "s", [[b"a"], MISSING], "sequence string None"),
    case("an image, missing in one", "s", [[JPEG], MISSING], "sequence string None"),
    case("never any kind", "s", [None, None], "sequence string None"),
    case("boxes", "bounding_boxes", [[0.5] * 8, [0.5] * 4, None], "sequence float32 None 4"),
    case("one box each", "image/Bbox", [[0.5] * 4] * 2, "sequence float32 None 4"),
    case("no multiple of four", "boxes", [[0.1] * 4, [0.1]], "sequence float32 None"),
    case("box is not the last part", "box/x", [[0.1] * 4] * 2, "tensor float32 4"),
    case("boxes of integers", "boxes", [[1] * 4] * 2, "tensor int64 4"),
    case("a label", "label", [[0], [9_999]], "class_label int64"),
    case("some labels are -1", "label", [[-1], [2]], "class_label int64"),
    case("the last part is a label", "image/class/Label", [[0], [1]], "class_label int64"),
    case("the ending is a label", "dog_class", [[0], [1]], "class_label int64"),
    case("target", "target", [[0], [1]], "class_label int64"),
    case("not called a label", "speaker", [[0], [1]], "scalar int64"),
    case("too large for a class", "label", [[0], [10_000]], "scalar int64"),
    case("too small for a class", "label", [[-2], [1]], "scalar int64"),
    case("a label that is a float", "label", [[0.0], [1.0]], "scalar float32"),
    case("several labels", "labels", [[0, 1], [2]], "sequence int64 None"),
    case("one lacks its label", "class", [[2], MISSING], "class_label int64 default -1"),
    case("one has no kind of label", "class", [[2], None], "sequence int64 None"),
    case("one lacks its labels", "class", [[2, 1], MISSING], "sequence int64 None"),
    case("one lacks its number", "class", [[70_000], MISSING], "sequence int64 None"),
    case("texts", "s", [[b"abc"], ["ä\t\r\n".encode()]], "text string"),
    case("an empty text", "s", [[b"abc"], [b""]], "text string"),
    case("empty texts", "s", [[b""], [b""]], "text string"),
    case("a control character", "s", [[b"a\x1b"], [b"a"]], "bytes string"),
    case("text and bytes", "s", [[b"a"], [RAW]], "bytes string"),
    case("JPEG", "s", [[JPEG], [JPEG]], "image uint8 None None 3 jpeg"),
    case("PNG, and an empty one", "s", [[PNG], [b""]], "image uint8 None None 3 png"),
    case("JPEG and PNG", "s", [[JPEG], [PNG]], "image uint8 None None 3 mixed"),
    case("GIF and BMP", "s", [[GIF], [BMP]], "image uint8 None None 3 mixed"),
    case("JPEG and text", "s", [[JPEG], [b"text "]], "bytes string"),
    case("JPEG and bytes", "s", [[JPEG], [RAW]], "bytes string"),
    case("WAV", "s", [[WAV], [WAV]], "audio float32 None None wav"),
    case("FLAC and OGG", "s", [[FLAC], [OGG]], "audio float32 None None mixed"),
    case("MP3", "s", [[MP3], [b"ID3\3\0\0\0\0\0\0" + MP3]], "audio float32 None None mp3"),
    case("WAV and JPEG", "s", [[WAV], [JPEG]], "bytes string"),
    case("raw bytes of two lengths", "s", [[RAW], [RAW * 2]], "bytes string"),
    case("raw bytes, and an empty value", "s", [[RAW], [b""]], "bytes string"),
]


def in_words(feature: Any) -> str:
    """Describe a feature of either package, as in `CASES`."""
    parts = [feature.kind, feature.dtype, *feature.shape, feature.format]
    if feature.default is not None:
        parts += ["default", feature.default]
    return " ".join(str(part) for part in parts if part != "")
