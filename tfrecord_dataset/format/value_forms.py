"""Detects the type of a bytes value by its first bytes."""

IMAGE_FORMS = frozenset({"jpeg", "png", "bmp", "gif"})
AUDIO_FORMS = frozenset({"wav", "flac", "ogg", "mp3"})

# ASCII control characters except white space (\t \n \v \f \r).
_CONTROLS = bytes([*range(9), *range(14, 32), 127])


def form_of(value: bytes) -> str:
    """Detect a value's form: one of IMAGE_FORMS or AUDIO_FORMS, "text", "raw", or "" if empty."""
    match value[:4]:
        case b"":
            return ""
        case b"\x89PNG" if value[4:8] == b"\r\n\x1a\n":
            return "png"
        case b"GIF8" if value[4:6] in (b"7a", b"9a"):
            return "gif"
        case b"RIFF" if value[8:12] == b"WAVE":
            return "wav"
        case b"fLaC":
            return "flac"
        case b"OggS":
            return "ogg"
    if value[:3] == b"\xff\xd8\xff":
        return "jpeg"
    if _is_mp3(value):
        return "mp3"
    if value[:2] == b"BM" and value[6:10] == bytes(4):  # text has no zero bytes
        return "bmp"
    return "text" if _is_text(value) else "raw"


def _is_mp3(value: bytes) -> bool:
    """Whether it starts with an ID3 tag, or a frame of layer III with valid rates."""
    if value[:3] == b"ID3":
        return value[3:5] in (b"\2\0", b"\3\0", b"\4\0")
    is_frame = value[0] == 0xFF and len(value) > 3 and value[1] in b"\xe2\xe3\xf2\xf3\xfa\xfb"
    return is_frame and value[2] >> 4 not in (0, 15) and value[2] >> 2 & 3 != 3


def _is_text(value: bytes) -> bool:
    """Whether it is UTF-8 without control characters; raw numbers rarely are."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return value.translate(None, _CONTROLS) == value
