"""Whatever passes is decoded by TensorFlow, to the size and channels stated."""

import random
from collections.abc import Callable

import pytest
import tensorflow as tf

from beam_pipeline.errors import RecordError
from beam_pipeline.media.image_options import ImageOptions
from beam_pipeline.media.images import encode_image, inspect_image

Encode = Callable[..., bytes]
OPTIONS = ImageOptions(max_pixels=1_000_000)


@pytest.fixture
def assert_tensorflow_agrees() -> Callable[[bytes, ImageOptions], None]:
    """Raises RecordError when the data does not pass."""

    def check(data: bytes, options: ImageOptions) -> None:
        found = inspect_image(data, options)
        stored = encode_image(data, found.image, options)
        as_it_is = tf.io.decode_image(stored, expand_animations=False)
        assert as_it_is.shape == (found.image.height, found.image.width, found.image.channels)
        decoders = {"jpeg": tf.io.decode_jpeg, "png": tf.io.decode_png, "bmp": tf.io.decode_bmp}
        assert decoders[found.image.format](stored, channels=3).shape == (
            found.image.height,
            found.image.width,
            3,
        )

    return check


@pytest.mark.parametrize(
    ("file_format", "mode", "save"),
    [
        ("JPEG", "RGB", {}),
        ("JPEG", "RGB", {"progressive": True}),
        ("JPEG", "L", {}),
        ("JPEG", "CMYK", {}),
        ("JPEG", "RGB", {"keep_rgb": True}),
        ("JPEG", "RGB", {"orientation": 6}),
        ("MPO", "RGB", {"animated": True}),
        ("PNG", "1", {}),
        ("PNG", "L", {"transparency": 9}),
        ("PNG", "LA", {}),
        ("PNG", "P", {}),
        ("PNG", "P", {"transparency": 3}),
        ("PNG", "P", {"bits": 4}),
        ("PNG", "RGB", {"transparency": (1, 2, 3)}),
        ("PNG", "RGBA", {}),
        ("PNG", "I;16", {}),
        ("PNG", "RGB", {"animated": True}),
        ("GIF", "P", {"transparency": 3, "animated": True}),
        ("BMP", "RGB", {}),
        ("WEBP", "RGBA", {"animated": True}),
        ("TIFF", "I;16", {}),
        ("TIFF", "CMYK", {}),
        ("TIFF", "1", {"orientation": 8}),
    ],
)
@pytest.mark.parametrize(
    "options",
    [{}, {"max_side": 7}, {"format": "jpeg"}, {"format": "png", "size": (5, 9)}],
    ids=str,
)
def test_formats_and_modes(
    encode: Encode, assert_tensorflow_agrees, file_format, mode, save, options
):
    assert_tensorflow_agrees(encode(file_format, mode, **save), ImageOptions(**options))


@pytest.mark.parametrize(
    ("file_format", "mode", "save"),
    [
        ("JPEG", "RGB", {}),
        ("JPEG", "RGB", {"progressive": True}),
        ("JPEG", "RGB", {"restart_marker_blocks": 1}),
        ("JPEG", "CMYK", {}),
        ("PNG", "RGB", {}),
        ("PNG", "P", {"transparency": 3}),
    ],
)
def test_damage_that_passes_is_harmless(
    encode: Encode, assert_tensorflow_agrees, file_format, mode, save
):
    """Random changes: each either is refused here, or is nothing to TensorFlow's decoder."""
    original = encode(file_format, mode, **save)
    chance = random.Random(5)
    passed = 0
    for _ in range(150):
        data = bytearray(original)
        kind = chance.random()
        position = chance.randrange(8, len(data))
        if kind < 0.2:
            del data[position:]
        elif kind < 0.4:
            del data[position : position + chance.randrange(1, 50)]
        else:
            for _ in range(chance.randrange(1, 4)):
                position = chance.randrange(len(data) // 3, len(data))
                data[position] = chance.choice((0, 255, chance.randrange(256)))
        try:
            assert_tensorflow_agrees(bytes(data), OPTIONS)
            passed += 1
        except RecordError:
            pass
    assert passed > 0 or file_format == "PNG"  # whose checksums find everything
