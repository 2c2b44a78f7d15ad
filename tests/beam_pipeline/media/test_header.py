import struct

import pytest

from beam_pipeline.media.header import exif_orientation


def exif(order: str, *entries: tuple[int, int, int, int]) -> bytes:
    mark = b"II*\0" if order == "<" else b"MM\0*"
    body = struct.pack(f"{order}IH", 8, len(entries))
    return mark + body + b"".join(struct.pack(f"{order}HHIHxx", *entry) for entry in entries)


@pytest.mark.parametrize("prefix", [b"", b"Exif\0\0"])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation(orientation, order, prefix):
    data = exif(order, (0x0100, 3, 1, 6), (0x0112, 3, 1, orientation))
    assert exif_orientation(prefix + data) == orientation


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"Exif\0\0", id="nothing in it"),
        pytest.param(b"no TIFF at all", id="noise"),
        pytest.param(exif("<", (0x0112, 3, 1, 0)), id="zero"),
        pytest.param(exif("<", (0x0112, 3, 1, 9)), id="nine"),
        pytest.param(exif("<", (0x0112, 2, 1, 6)), id="of another type"),
        pytest.param(exif("<", (0x0112, 3, 2, 6)), id="two of them"),
        pytest.param(exif("<", (0x0112, 3, 1, 6))[:-8], id="cut short"),
        pytest.param(b"II*\0\xff\xff\xff\xff", id="a directory far away"),
    ],
)
def test_without_a_valid_orientation_it_is_upright(data):
    assert exif_orientation(data) == 1
