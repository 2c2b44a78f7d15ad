"""PNG: check every chunk, every checksum and all pixel data, without building an image.

Pillow accepts files that libpng, hence TensorFlow, refuses: wrong checksums of the pixel data, a
missing or truncated end chunk, too few rows, a missing palette, unknown critical chunks.
Specification: https://www.w3.org/TR/png-3/.
"""

import struct
import zlib

from beam_pipeline.errors import RecordError
from beam_pipeline.media.header import (
    DAMAGED,
    TRUNCATED,
    UNSUPPORTED,
    Header,
    check_size,
    exif_orientation,
)

_SIGNATURE_BYTES = 8
_CHUNK = struct.Struct(">I4s")
_IHDR = struct.Struct(">IIBBBBB")
_CRITICAL = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})
_GREY, _RGB, _PALETTE, _GREY_ALPHA, _RGBA = 0, 2, 3, 4, 6
# By colour type: samples per pixel, and the allowed bits per sample.
_SAMPLES = {_GREY: 1, _RGB: 3, _PALETTE: 1, _GREY_ALPHA: 2, _RGBA: 4}
_BITS = {
    _GREY: (1, 2, 4, 8, 16),
    _RGB: (8, 16),
    _PALETTE: (1, 2, 4, 8),
    _GREY_ALPHA: (8, 16),
    _RGBA: (8, 16),
}
_MODES = {_RGB: "RGB", _PALETTE: "P", _GREY_ALPHA: "LA", _RGBA: "RGBA"}
_GREY_MODES = {1: "1", 16: "I;16"}
# Adam7: (first column, first row, column step, row step) of each pass.
_INTERLACED_PASSES = (
    (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
    (0, 1, 1, 2),
)  # fmt: skip
_SINGLE_PASS = (0, 0, 1, 1)
_LAST_FILTER = 4
_PIECE_BYTES = 16 << 20  # decompressed at a time, which limits a deflate bomb


def inspect(data: bytes, max_pixels: int) -> Header:
    """Check a whole PNG, as `inspect_image` does."""
    chunks, pixel_data = _read_chunks(data)
    ihdr = chunks.get(b"IHDR", b"")
    if len(ihdr) != _IHDR.size:
        raise RecordError(DAMAGED, f"a header of {len(ihdr)} bytes")
    width, height, bits, color, compression, filtering, interlace = _IHDR.unpack(ihdr)
    check_size(width, height, max_pixels)
    if bits not in _BITS.get(color, ()) or compression or filtering or interlace > 1:
        raise RecordError(DAMAGED, f"{bits} bits of colour type {color}, interlace {interlace}")
    color_key = b"tRNS" in chunks and color in (_GREY, _RGB, _PALETTE)
    if color == _PALETTE and not 3 <= len(chunks.get(b"PLTE", b"")) <= 768:
        raise RecordError(DAMAGED, "the palette is missing or has a wrong size")
    _check_pixels(pixel_data, width, height, bits * _SAMPLES[color], interlace == 1)
    return Header(
        format="png",
        width=width,
        height=height,
        mode=_GREY_MODES.get(bits, "L") if color == _GREY else _MODES[color],
        channels=3 + color_key if color == _PALETTE else _SAMPLES[color],
        bits=bits,
        color_key=color_key,
        orientation=exif_orientation(chunks.get(b"eXIf", b"")),
        animated=int.from_bytes(chunks.get(b"acTL", b"")[:4], "big") > 1,
    )


def _read_chunks(data: bytes) -> tuple[dict[bytes, bytes], bytes]:
    """Return the first chunk of each relevant kind, and the pixel data of all IDAT chunks."""
    kinds = (b"IHDR", b"PLTE", b"tRNS", b"eXIf", b"acTL")
    chunks: dict[bytes, bytes] = {}
    pixel_data: list[memoryview] = []
    view = memoryview(data)
    position = _SIGNATURE_BYTES
    previous = b""
    while position + 12 <= len(data):
        length, kind = _CHUNK.unpack_from(data, position)
        end = position + 12 + length
        if end > len(data):
            break
        if zlib.crc32(view[position + 4 : end - 4]) != int.from_bytes(view[end - 4 : end], "big"):
            raise RecordError(DAMAGED, f"wrong checksum of chunk {kind!r} at byte {position:,}")
        body = view[position + 8 : end - 4]
        if kind == b"IEND":
            return chunks, b"".join(pixel_data)
        _check_kind(kind, is_first=not chunks)
        if kind == b"IDAT":
            if pixel_data and previous != b"IDAT":
                raise RecordError(DAMAGED, f"pixel data interrupted by chunk {previous!r}")
            pixel_data.append(body)
        elif kind in (b"IHDR", b"PLTE") and (kind in chunks or pixel_data):
            raise RecordError(DAMAGED, f"chunk {kind!r} twice, or after the pixel data")
        elif kind in kinds:
            chunks.setdefault(kind, bytes(body))
        previous = kind
        position = end
    raise RecordError(TRUNCATED, f"no end chunk; the file ends after {len(data):,} bytes")


def _check_kind(kind: bytes, *, is_first: bool) -> None:
    if is_first and kind != b"IHDR":
        raise RecordError(
            UNSUPPORTED if kind == b"CgBI" else DAMAGED, f"it begins with chunk {kind!r}"
        )
    if not kind.isalpha() or (kind[:1].isupper() and kind not in _CRITICAL):
        raise RecordError(UNSUPPORTED, f"unknown critical chunk {kind!r}")


def _check_pixels(
    pixel_data: bytes, width: int, height: int, pixel_bits: int, interlaced: bool
) -> None:
    """Decompress the pixel data in pieces; check its length, checksum and row filters."""
    inflater = zlib.decompressobj()
    try:
        for column, row, column_step, row_step in (
            _INTERLACED_PASSES if interlaced else (_SINGLE_PASS,)
        ):
            columns = -(-(width - column) // column_step)
            rows = -(-(height - row) // row_step) if columns > 0 else 0
            row_bytes = 1 + -(-columns * pixel_bits // 8)  # including the filter byte
            while rows > 0:
                piece_rows = min(rows, max(1, _PIECE_BYTES // row_bytes))
                piece = inflater.decompress(pixel_data, piece_rows * row_bytes)
                pixel_data = inflater.unconsumed_tail
                if len(piece) < piece_rows * row_bytes:
                    raise RecordError(DAMAGED, "fewer rows than the header states")
                if max(piece[::row_bytes]) > _LAST_FILTER:
                    raise RecordError(DAMAGED, "a row with an unknown filter")
                rows -= piece_rows
        # libpng tolerates extra rows, but not a missing end. A bomb would unpack to gigabytes.
        if not inflater.eof:
            inflater.decompress(pixel_data, _PIECE_BYTES)
    except zlib.error as error:
        raise RecordError(DAMAGED, f"pixel data: {error}") from error
    if not inflater.eof:
        raise RecordError(DAMAGED, "the pixel data does not end with the last row")
