import zlib

import pytest
from file_bytes import png_chunk

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
def test_every_kind(make_png, bits, color_type, size, interlaced):
    header = png.inspect(make_png(bits, color_type, size, interlaced=interlaced), ANY_SIZE)

    assert (header.width, header.height, header.bits) == (*size, bits)
    assert header.channels == {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}[color_type]


def test_a_bomb_of_rows_beyond_the_last(make_png):
    def bomb(data: bytes) -> bytes:
        return png_chunk(b"IDAT", zlib.compress(zlib.decompress(data) + bytes(20 << 20)))

    assert reason(make_png(pixel_chunks=bomb)) == "damaged image"


def test_a_flipped_bit_anywhere(make_png):
    data = make_png()
    for position in range(8, len(data)):
        for bit in (1, 128):
            changed = data[:position] + bytes([data[position] ^ bit]) + data[position + 1 :]
            assert reason(changed) in ("damaged image", "truncated image", "unsupported image")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(lambda make: make(end=False), "truncated image", id="no end chunk"),
        pytest.param(lambda make: make(stated_size=(11, 0)), "damaged image", id="no rows"),
        (lambda make: make(before=png_chunk(b"ABCD", b"")), "unsupported image"),
        (lambda make: make().replace(b"IHDR", b"CgBI", 1), "damaged image"),
        pytest.param(
            lambda make: make()[:8] + png_chunk(b"CgBI", b"\0\0\0\0") + make()[8:],
            "unsupported image",
            id="Apple's own PNG",
        ),
        pytest.param(lambda make: make(before=make()[8:33]), "damaged image", id="two headers"),
        pytest.param(
            lambda make: make(
                pixel_chunks=lambda data: (
                    png_chunk(b"IDAT", data[:20])
                    + png_chunk(b"tEXt", b"a\0b")
                    + png_chunk(b"IDAT", data[20:])
                )
            ),
            "damaged image",
            id="interrupted pixel data",
        ),
        (lambda make: make(pixel_chunks=lambda data: b""), "damaged image"),  # no pixel data
        pytest.param(
            lambda make: make(pixel_chunks=lambda data: png_chunk(b"IDAT", data[:-4])),
            "damaged image",
            id="pixel data without its checksum",
        ),
        (lambda make: make(8, 3).replace(b"PLTE", b"pLTE"), "damaged image"),  # no palette
    ],
)
def test_structure(make_png, make, expected):
    assert reason(make(make_png)) == expected


def test_metadata_bombs_are_not_opened(make_png):
    text = png_chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(50_000_000)))
    assert png.inspect(make_png(before=text), ANY_SIZE).width == 11
