import pytest
from media_files import encode

from beam_pipeline.errors import RecordError
from beam_pipeline.media import jpeg
from tfrecord_dataset.image_size import ImageSize

ANY_SIZE = 2**31


def patched(data: bytes, marker: int, offset: int, new: bytes) -> bytes:
    """Replace bytes of `data` by `new`, `offset` bytes after a marker's second byte."""
    start = data.index(bytes([0xFF, marker])) + 2 + offset
    return data[:start] + new + data[start + len(new) :]


def refusal(data: bytes) -> tuple[str, str]:
    with pytest.raises(RecordError) as error:
        jpeg.inspect(data, ANY_SIZE)
    return error.value.reason, error.value.detail


@pytest.mark.parametrize(
    ("marker", "offset", "new", "reason", "detail"),
    [
        pytest.param(0xC0, 2, b"\x0c", "unsupported image", "of 12 bits", id="12 bits"),
        pytest.param(0xC0, 7, b"\x02", "unsupported image", "2 components", id="2 components"),
        pytest.param(0xC0, 3, b"\0\0", "damaged image", "24x0", id="no height"),
        pytest.param(0xC0, -1, b"\xc3", "unsupported image", "lossless", id="lossless"),
        pytest.param(0xC0, 0, b"\0\0", "damaged image", "is empty", id="segment without length"),
        pytest.param(0xC0, 0, b"\0\4", "damaged image", "too short", id="short frame"),
        pytest.param(0xC4, 0, b"\xff\xfe", "damaged image", "beyond the end", id="long segment"),
        (0xDA, 20, b"\xff\xec\x4a\x86", "damaged image", "beyond the end"),  # in scan
        pytest.param(0xDA, 20, b"\xff\xc4", "damaged image", "", id="table in scan"),
        pytest.param(0xDB, -1, b"\xe5", "damaged image", "", id="no quantisation table"),
    ],
)
def test_damage(marker, offset, new, reason, detail):
    data = encode("JPEG", "L", quality=95)
    found, text = refusal(patched(data, marker, offset, new))
    assert found == reason
    assert detail in text


@pytest.mark.parametrize(
    ("at_least", "expected"),
    [((64, 96), (96, 64)), ((20, 49), (96, 64)), ((32, 48), (48, 32)), ((1, 1), (12, 8))],
)
def test_decodes_no_more_than_is_needed(at_least, expected):
    data = encode("JPEG", size=(96, 64))
    assert jpeg.decode(data, jpeg.inspect(data, ANY_SIZE), ImageSize(*at_least)).size == expected


@pytest.mark.parametrize("times", [pytest.param(0, id="lacks one"), pytest.param(300, id="many")])
def test_a_colour_profile_with_a_wrong_number_of_parts_is_none(times):
    data = encode("JPEG", icc_profile=b"x" * 100_000)
    start = data.index(b"\xff\xe2")
    end = start + 2 + int.from_bytes(data[start + 2 : start + 4], "big")
    changed = data[:start] + times * data[start:end] + data[end:]
    assert jpeg.read_header(changed, ANY_SIZE).icc_profile == b""
