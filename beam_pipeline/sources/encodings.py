"""Texts that are not UTF-8: how they become it."""

import os
import re
import shlex

from beam_pipeline.sources.paths import uncompressed

_LETTERS = re.compile(rb"[\x80-\xff]+")
_MOST_IN_A_ROW = 2


def as_utf8(path: str, data: bytes) -> str:
    """What makes UTF-8 of the file at `path`: a command, where that is sure to help.

    Letters of Western Europe (Windows-1252, which Latin-1 is a part of) stand alone among those of
    ASCII; those of other encodings, such as GBK and Windows-1251, stand in a row.

    Args:
        path: The file, an absolute path or URL.
        data: Some of it that is not UTF-8.
    """
    if uncompressed(path) != path or not os.path.isfile(path):  # it is remote, or in an archive
        return "save it as UTF-8"
    try:
        data.decode("cp1252")
        is_western = max(map(len, _LETTERS.findall(data)), default=0) <= _MOST_IN_A_ROW
    except UnicodeDecodeError:
        is_western = False
    name, new = shlex.quote(path), shlex.quote(f"{path}.utf8")
    command = f"iconv -f {'CP1252' if is_western else 'ENCODING'} -t UTF-8 {name} > {new}"
    what = "" if is_western else ", where ENCODING is what it was saved in (GBK, CP1251, …)"
    return f"save it as UTF-8, by {command} && mv {new} {name}{what}"
