"""Self-contained HTML pages: code shared by the reports of datasets and of runs."""

import base64
import contextlib
import functools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfrecord_dataset.shown_text import number_text, size_text


def rendered(folder: Path, template: str, facts: Mapping[str, Any]) -> str:
    """Render a folder's template, which may include `page.css` and `page.js`; escapes all facts."""
    text: str = _template(folder, template).render(facts)
    return text


def data_uri(media_type: str, data: bytes) -> str:
    """Encode content as a data URI, so that a page needs no other file."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


@functools.cache
def _template(folder: Path, name: str) -> Any:
    import jinja2  # only pages need it

    class Compiled(jinja2.FileSystemBytecodeCache):
        """Compiled templates, kept like Python's modules: a tenth of a second of each build."""

        def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
            with contextlib.suppress(OSError):  # the package is not ours to write
                super().dump_bytecode(bucket)

    compiled = (
        None if sys.dont_write_bytecode else Compiled(str(Path(__file__).with_name("__pycache__")))
    )
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, Path(__file__).parent]),
        bytecode_cache=compiled,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"bytes": size_text, "number": number_text, "zip": zip}
    return environment.get_template(name)
