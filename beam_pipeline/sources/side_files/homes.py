"""Where files lie, once the folder that is their layout's own is left out."""

from beam_pipeline.sources.listing import name_of
from beam_pipeline.sources.paths import folder, split_at


def in_home(path: str, home: str) -> tuple[str, str] | None:
    """The folders before and after `home`, if it is one and the path lies in it."""
    return split_at(path, home) if home else None


def place_of(path: str, home: str = "") -> str:
    """The folder of a file without `home`, in lower case, and its name without suffix."""
    around = in_home(path, home)
    parts = "/".join(filter(None, around)) if around else folder(path)
    return f"{parts.lower()}/{name_of(path)}"
