"""Pages to look at, each one file without a server: what those of datasets and of runs share."""

import base64
import functools
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfrecord_dataset.shown_text import size_text


def rendered(folder: Path, template: str, facts: Mapping[str, Any]) -> str:
    """A page as text, in which all is escaped.

    Args:
        folder: With the template, which may include `page.css` and `page.js`.
        template: The name of its file.
        facts: By the names that the template has for them.
    """
    text: str = _template(folder, template).render(facts)
    return text


def data_uri(media_type: str, data: bytes) -> str:
    """Content as an address that holds it, so that a page needs no other file."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


@functools.cache
def _template(folder: Path, name: str) -> Any:
    import jinja2  # here: no other command needs it

    # Where Python keeps this module compiled, so that a page does not wait for its template anew.
    compiled = Path(__file__).with_name("__pycache__")
    keeps = not sys.dont_write_bytecode and os.access(compiled, os.W_OK)
    environment = jinja2.Environment(
        bytecode_cache=jinja2.FileSystemBytecodeCache(str(compiled)) if keeps else None,
        loader=jinja2.FileSystemLoader([folder, Path(__file__).parent]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["bytes"] = size_text
    return environment.get_template(name)
