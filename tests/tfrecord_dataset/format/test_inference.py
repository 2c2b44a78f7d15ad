"""Features of foreign Examples, inferred from their first records and the forms of their values."""

import pytest
from inference_cases import CASES, MISSING, in_words
from tensorflow_examples import example

from tfrecord_dataset.format.inference import infer, observe
from tfrecord_dataset.format.value_forms import form_of
from trainer.errors import ConfigError


def sample_of(key, *records):
    """Return statistics of records with these values of `key`, and another key `other`."""
    examples = [{"other": 1} | ({} if record is MISSING else {key: record}) for record in records]
    return observe((f"record {number}", example(each)) for number, each in enumerate(examples))


def inferred(key, *records):
    feature = infer(sample_of(key, *records))[key]
    assert (feature.name, feature.key, feature.bare) == (key, key, True)
    return feature


@pytest.mark.parametrize(("key", "records", "expected"), CASES)
def test_infer(key, records, expected):
    feature = inferred(key, *records)

    assert in_words(feature) == expected
    assert feature.encoding == ""
    assert feature.classes == ()  # unknown from a sample


@pytest.mark.parametrize(
    ("number", "classes"), [(2, ("1", "cat")), (10_000, ()), (2**62, ())], ids=str
)
def test_numbers_of_boxes_are_classes_up_to_a_bound(number, classes):
    record = {f"image/object/bbox/{side}": [0.5] for side in ("xmin", "ymin", "xmax", "ymax")}
    record |= {"image/object/class/label": [number], "image/object/class/text": [b"cat"]}

    assert infer(observe([("a", example(record))]))["boxes"].classes == classes


def test_features_are_sorted_by_key():
    assert list(infer(sample_of("z", [1]))) == ["other", "z"]


def test_two_kinds_of_list_are_an_error():
    with pytest.raises(
        ConfigError,
        match=r"'n' must hold lists of one kind.* float list in record 1, .* list in record 0",
    ):
        infer(sample_of("n", [1], [1.5]))


@pytest.mark.parametrize(
    ("value", "form"),
    [
        pytest.param(b"", "", id="empty"),
        pytest.param(b"\xff\xd8\xff\xe0", "jpeg", id="JPEG's magic"),
        pytest.param(b"\x89PNG\r\n\x1a\n", "png", id="PNG's magic"),
        pytest.param(b"\x89PNG\r\n", "raw", id="half a PNG's magic"),
        pytest.param(b"GIF89a", "gif", id="GIF's magic"),
        pytest.param(b"RIFF\x24\0\0\0WAVEfmt ", "wav", id="WAV"),
        pytest.param(b"RIFF\0\0\0\0AVI ", "raw", id="another RIFF"),
        pytest.param(b"RIFF\x24\0\0\0WEBP", "raw", id="WebP, whose container is also RIFF"),
        pytest.param(b"GIF8", "text", id="a word like GIF"),
        pytest.param(b"BM\x46\0\0\0" + bytes(4) + b"\x36\0\0\0", "bmp", id="BMP's magic"),
        pytest.param(b"BMW is a make of cars", "text", id="a word like BMP"),
        pytest.param(b"fLaC\0", "flac", id="FLAC"),
        pytest.param(b"OggS\0", "ogg", id="OGG"),
        pytest.param(b"\xff\xfb\x90\x64", "mp3", id="MP3"),
        pytest.param(b"\xff\xfb\x9c\x64", "raw", id="MP3 of no rate"),
        pytest.param("Öl,\n\r\tfür 3 €".encode(), "text", id="UTF-8"),
        pytest.param(b"gr\xf6\xdfer", "raw", id="Latin-1"),
        pytest.param("5\u00a0€\u3000\u2028".encode(), "text", id="spaces of other widths"),
        pytest.param("\ufeffco\u00adop\u200d\u200c".encode(), "text", id="characters of no width"),
        pytest.param("that\u0096s it\u0085".encode(), "text", id="C1, as in old web pages"),
        pytest.param("\U0001fae9 \U000e0100 \ue000".encode(), "text", id="newer than Python knows"),
        pytest.param(b"one\fpage\v\n", "text", id="white space of printers"),
        *(pytest.param(bytes([65, n]), "raw", id=f"byte {n}") for n in (*range(9), *range(14, 32))),
        pytest.param(b"A\x7f", "raw", id="DEL"),
        pytest.param(b"\xed\xa0\x80 \xc0\x80", "raw", id="UTF-8 that no standard allows"),
    ],
)
def test_form_of(value, form):
    assert form_of(value) == form
