"""What a URL means: a local path, or something that Beam's FileSystems open."""

import re
import urllib.parse
from typing import Any

from beam_pipeline.errors import ConfigError

_FILE = "file://"


_SCHEME = re.compile(r"[a-zA-Z][-a-zA-Z0-9+.]*://")


def is_remote(path: str) -> bool:
    """Whether `path` has a scheme, such as gs:// or s3://."""
    return _SCHEME.match(path) is not None


def local_path(path: str) -> str:
    """A file:// URL as the path that it means; any other path as it is."""
    if not path.startswith(_FILE):
        return path
    return urllib.parse.unquote(path.removeprefix(_FILE).removeprefix("localhost"))


def file_systems(path: str) -> Any:
    """Beam's FileSystems, which know the scheme of `path`.

    Raises:
        ConfigError: They do not.
    """
    from apache_beam.io.filesystems import FileSystems

    try:
        FileSystems.get_filesystem(path)
    except ValueError as error:
        raise ConfigError(
            f"Apache Beam reads no {path.partition('://')[0]}:// here; copy the data to a folder, "
            "or install Beam's extra for it, such as apache-beam[gcp]"
        ) from error
    return FileSystems
