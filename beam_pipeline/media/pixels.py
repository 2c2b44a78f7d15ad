"""Convert pixels in memory to their stored mode."""

import io

import numpy as np
from PIL import Image

from beam_pipeline.media.header import Header

# By EXIF orientation: the transposition that turns stored pixels upright.
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

_PIXELS_AT_ONCE = 1 << 20


def stored_mode(header: Header, stored_format: str, resized: bool) -> str:
    """Return Pillow's mode for pixels to encode again."""
    mode = "RGB" if header.mode == "CMYK" else header.mode
    if stored_format == "bmp":
        return "RGB"
    if stored_format == "jpeg":
        return "L" if mode in ("1", "L", "LA", "I;16") else "RGB"
    if not resized:
        return mode
    if mode == "1":
        mode = "L"
    if header.color_key:
        return {"L": "LA", "RGB": "RGBA", "P": "RGBA"}.get(mode, mode)
    return "RGB" if mode == "P" else mode


def upright(image: Image.Image, orientation: int) -> Image.Image:
    """Turn or mirror `image` by EXIF's `orientation`, as viewers do."""
    return image if orientation == 1 else image.transpose(_UPRIGHT[orientation])


def to_mode(image: Image.Image, mode: str) -> Image.Image:
    """Convert `image` to `mode`; blend transparent pixels with white if `mode` has no alpha."""
    if image.mode == mode:
        return image
    if image.mode == "I;16":
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    transparent = image.mode in ("LA", "RGBA") or "transparency" in image.info
    blends = transparent and mode in ("L", "RGB")
    converted = _on_white(image, mode) if blends else image.convert(mode)
    if image.mode != "CMYK" and "icc_profile" in image.info:
        converted.info["icc_profile"] = image.info["icc_profile"]
    else:
        converted.info.pop("icc_profile", None)
    return converted


def _on_white(image: Image.Image, mode: str) -> Image.Image:
    """Blend `image` with white by groups of rows; all at once takes memory for four more images."""
    blended = Image.new(mode, image.size)
    rows = max(1, _PIXELS_AT_ONCE // image.width)
    for top in range(0, image.height, rows):
        box = (0, top, image.width, min(top + rows, image.height))
        pixels = image.crop(box).convert("RGBA")
        white = Image.new("RGBA", pixels.size, "white")
        blended.paste(Image.alpha_composite(white, pixels).convert(mode), box)
    return blended


def encode(image: Image.Image, image_format: str, jpeg_quality: int) -> bytes:
    """Encode `image` as "jpeg" (4:2:0), "png" or "bmp".

    JPEG and PNG keep the colour profile, and no other metadata.

    The same Pillow always gives the same bytes.
    """
    profile = image.info.get("icc_profile")
    color_key = image.info.get("transparency")
    bare = image.copy()
    bare.info = {}  # otherwise the encoders write more metadata
    if color_key is not None and bare.mode in ("1", "L", "P", "RGB", "I;16"):
        bare.info["transparency"] = color_key
    buffer = io.BytesIO()
    if image_format == "jpeg":
        bare.save(buffer, "JPEG", quality=jpeg_quality, subsampling="4:2:0", icc_profile=profile)
    elif image_format == "bmp":
        bare.save(buffer, "BMP")
    else:
        bare.save(buffer, "PNG", icc_profile=profile)
    return buffer.getvalue()
