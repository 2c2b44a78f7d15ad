import zlib

import pytest
from file_bytes import png_chunk
from media_files import make_png

from beam_pipeline.errors import RecordError
from beam_pipeline.media import png

ANY_SIZE = 2**31
EVERY_KIND = [
    *((bits, 0) for bits in (1, 2, 4, 8, 16)),
    *((bits, 2) for bits in (8, 16)),
    *((bits, 3) for bits in (1, 2, 4, 8)),
    *((bits, color) for color in (4, 6) for bits in (8, 16)),
]


def reason(data: bytes) -> str:
    with pytest.raises(RecordError) as error:
        png.inspect(data, ANY_SIZE)
    return error.value.reason


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("size", [(11, 9), (1, 1), (3, 2), (1, 9), (9, 1)])
@pytest.mark.parametrize(("bits", "color_type"), EVERY_KIND)
def test_every_kind(bits, color_type, size, interlaced):
    header = png.inspect(make_png(bits, color_type, size, interlaced=interlaced), ANY_SIZE)

    assert (header.width, header.height, header.bits) == (*size, bits)
    assert header.channels == {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}[color_type]


def test_a_flipped_bit_anywhere():
    data = make_png()
    for position in range(8, len(data)):
        for bit in (1, 128):
            changed = data[:position] + bytes([data[position] ^ bit]) + data[position + 1 :]
            assert reason(changed) in ("damaged image", "truncated image", "unsupported image")


def repacked(data: bytes) -> bytes:
    """Pixel data that unpacks to many rows after the last one."""
    return png_chunk(b"IDAT", zlib.compress(zlib.decompress(data) + bytes(20 << 20)))


def interrupted(data: bytes) -> bytes:
    return b"".join(
        png_chunk(name, part)
        for name, part in ((b"IDAT", data[:20]), (b"tEXt", b"a\0b"), (b"IDAT", data[20:]))
    )


WHOLE = make_png()
SHORT_HEADER = WHOLE[:8] + png_chunk(b"IHDR", bytes(12)) + WHOLE[33:]
APPLES = WHOLE[:8] + png_chunk(b"CgBI", b"\0\0\0\0") + WHOLE[8:]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(make_png(end=False), "truncated image", id="no end chunk"),
        pytest.param(make_png(stated_size=(11, 0)), "damaged image", id="no rows"),
        (make_png(before=png_chunk(b"ABCD", b"")), "unsupported image"),  # a critical chunk
        pytest.param(WHOLE.replace(b"IHDR", b"CgBI", 1), "damaged image", id="another checksum"),
        pytest.param(SHORT_HEADER, "damaged image", id="short header"),
        pytest.param(APPLES, "unsupported image", id="Apple's own PNG"),
        pytest.param(make_png(before=WHOLE[8:33]), "damaged image", id="two headers"),
        pytest.param(make_png(pixel_chunks=repacked), "damaged image", id="more rows"),
        pytest.param(make_png(pixel_chunks=interrupted), "damaged image", id="interrupted"),
        pytest.param(make_png(pixel_chunks=lambda data: b""), "damaged image", id="no pixels"),
        (make_png(pixel_chunks=lambda data: png_chunk(b"IDAT", data[:-4])), "damaged image"),
        (make_png(8, 3).replace(b"PLTE", b"pLTE"), "damaged image"),  # no palette
    ],
)
def test_structure(data, expected):
    assert reason(data) == expected


def test_metadata_bombs_are_not_opened():
    text = png_chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(50_000_000)))
    assert png.inspect(make_png(before=text), ANY_SIZE).width == 11
