"""What an Example's lists hold is told in brief, and merges."""

import numpy as np
import pytest

from beam_pipeline.kinds.stored_values import kind_of, summary
from beam_pipeline.stored_lists import ListSummary
from tfrecord_dataset.inference import is_label_key
from tfrecord_dataset.value_forms import form_of

PNG = b"\x89PNG\r\n\x1a\n"
BMP = b"BM\x46\x00\x00\x00" + bytes(4) + b"\x36\x00\x00\x00"
FLOATS = np.linspace(-1, 1, 16, dtype="<f4").tobytes()


@pytest.mark.parametrize(
    ("value", "form"),
    [
        pytest.param(b"\xff\xd8\xff\xe0", "jpeg", id="JPEG"),
        pytest.param(PNG, "png", id="PNG"),
        pytest.param(b"\x89PNG\r\n", "raw", id="half a PNG's magic"),
        pytest.param(b"GIF89a", "gif", id="GIF"),
        pytest.param(BMP, "bmp", id="BMP"),
        pytest.param(b"BMW 320 i, blue", "text", id="a text that starts with BM"),
        pytest.param(b"RIFF\x24\x00\x00\x00WAVEfmt ", "wav", id="WAV"),
        pytest.param(b"RIFF\x24\x00\x00\x00WEBP", "raw", id="WebP is no WAV"),
        pytest.param(b"fLaC\0", "flac", id="FLAC"),
        pytest.param(b"OggS\0", "ogg", id="OGG"),
        pytest.param(b"", "", id="empty"),
        pytest.param("größer\n\t\r".encode(), "text", id="UTF-8 in lines"),
        pytest.param("5\u00a0€\u3000\u2028".encode(), "text", id="spaces of other widths"),
        pytest.param("\ufeffco\u00adop\u200d\u200c".encode(), "text", id="characters of no width"),
        pytest.param("that\u0096s it\u0085".encode(), "text", id="C1, as in old web pages"),
        pytest.param("\U0001fae9 \U000e0100 \ue000".encode(), "text", id="newer than Python knows"),
        pytest.param(b"one\fpage\v\n", "text", id="white space of printers"),
        *(pytest.param(bytes([65, n]), "raw", id=f"byte {n}") for n in (*range(9), *range(14, 32))),
        pytest.param(b"A\x7f", "raw", id="DEL"),
        pytest.param(b"\xed\xa0\x80 \xc0\x80", "raw", id="UTF-8 that no standard allows"),
        pytest.param(b"gr\xf6\xdfer", "raw", id="Latin-1"),
    ],
)
def test_form(value, form):
    assert form_of(value) == form


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        pytest.param("int64", [7], 7, id="an int"),
        pytest.param("float32", [0.5], 0.5, id="a float"),
        pytest.param("bytes", [b"a cat"], "a cat", id="a short text"),
        pytest.param(
            "bytes",
            [b"a" * 101],
            ListSummary(kind="bytes", length=1, form="text", num_bytes=101, num_characters=101),
            id="a long text",
        ),
        pytest.param("bytes", [b""], ListSummary(kind="bytes", length=1), id="an empty value"),
        pytest.param(
            "bytes", [b"a", b"b"], ListSummary(kind="bytes", length=2), id="several texts"
        ),
        pytest.param(
            "int64", [3, -1], ListSummary(kind="int64", length=2, minimum=-1, maximum=3), id="ints"
        ),
        pytest.param(
            "float32",
            [float("nan"), 2.0],
            ListSummary(kind="float32", length=2, minimum=2.0, maximum=2.0),
            id="NaN is no limit",
        ),
        pytest.param("int64", [], ListSummary(kind="int64", length=0), id="no value"),
        pytest.param("", [], ListSummary(kind="", length=0), id="no kind"),
        pytest.param(
            "bytes",
            [FLOATS],
            ListSummary(kind="bytes", length=1, form="raw", num_bytes=64),
            id="raw floats",
        ),
    ],
)
def test_summary(kind, values, expected):
    found = summary(kind, values)

    assert found == expected
    assert type(found) is type(expected)
    assert kind_of(found) == kind


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("label", True),
        ("image/class/label", True),
        ("Label", True),
        ("y", True),
        ("fine_label", True),
        ("my_class", True),
        ("category_id", True),
        ("labelled", False),
        ("label/text", False),
        ("class_weight", False),
        ("label_weight", False),
    ],
)
def test_label_keys(key, expected):
    assert is_label_key(key) is expected
