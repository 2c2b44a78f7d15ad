"""Parses paths: local files, objects of a store, and unsupported URLs."""

import posixpath
import re
import urllib.parse

_FILE = "file://"
_SCHEME = re.compile(r"[a-zA-Z][-a-zA-Z0-9+.]*://")

_WEB = frozenset({"http", "https"})
# Parts of the names of signing query parameters.
_SIGNING = re.compile(r"sig|token|key|secret|passw|pwd|cred|auth|session|policy", re.IGNORECASE)

# Schemes of the store library.
OBJECT_SCHEMES = frozenset(
    {"gs", "s3", "s3a", "az", "azure", "abfs", "abfss", "adl", "http", "https"}
)


def is_remote(path: str) -> bool:
    """Whether `path` has a scheme, such as gs:// or s3://."""
    return not path.startswith("/") and _SCHEME.match(path) is not None


def is_object(path: str) -> bool:
    """Whether `path` is the URL of a store, such as gs:// or s3://, or of a web server."""
    return is_remote(path) and scheme_of(path) in OBJECT_SCHEMES


def is_web(path: str) -> bool:
    """Whether `path` is the URL of a web server, which may have a query, a user and a password."""
    return is_remote(path) and scheme_of(path) in _WEB


def unsigned(path: str) -> str:
    """Return a path for display and storage: without password or signature.

    Web URLs lose the user info, and the whole query if it is signed, since the other parameters
    change with it. Other queries (?id=7) stay.
    """
    if not is_web(path):
        return path
    plain, mark, query = path.partition("?")
    scheme, _, rest = plain.partition("://")
    authority, slash, key = rest.partition("/")
    named = urllib.parse.parse_qsl(query)
    if not named or any(_SIGNING.search(name) for name, _ in named):
        mark = query = ""
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{key}{mark}{query}"


def scheme_of(path: str) -> str:
    """Return the scheme in lower case."""
    return path.partition("://")[0].lower()


def local_path(path: str) -> str:
    """Return the path of a file:// URL; other paths are unchanged."""
    if not path.startswith(_FILE):
        return path
    return urllib.parse.unquote(path.removeprefix(_FILE).removeprefix("localhost"))


def join_url(base: str, part: str) -> str:
    """Join `part` to the remote folder `base`; ".." does not leave the bucket."""
    scheme, _, rest = base.partition("://")
    bucket, _, key = rest.partition("/")
    path = posixpath.normpath(f"/{key}/{part}").lstrip("/")
    return f"{scheme}://{bucket}/{path}" if path else f"{scheme}://{bucket}"


def split_object(url: str) -> tuple[str, str]:
    """Return the bucket's URL, and the key of the object in it.

    For https:// this is the host's URL with the query: a signature applies to every request.
    """
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme_of(url) in _WEB:
        path, mark, query = key.partition("?")
        return f"{scheme}://{bucket}/{mark}{query}", urllib.parse.unquote(path)
    return f"{scheme}://{bucket}", key
