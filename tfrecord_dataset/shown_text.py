"""Untrusted text made safe for display: no terminal control, no secrets."""

import dataclasses
import decimal
import math
import os
import re
import urllib.parse
from collections.abc import Sequence
from typing import Any

# C0, DEL, C1, and characters that change the text direction.
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LINE_END = re.compile(r"\s*[\r\n]\s*")
_URL = re.compile(r"\b([a-zA-Z][\w.+-]*)://([^\s\"'<>]+)")
# In these schemes the part before "@" is a container.
_CONTAINERS = frozenset({"abfs", "abfss", "wasb", "wasbs"})
_WEB = frozenset({"http", "https"})
_OPEN = frozenset({"project"})  # in Dataflow's URLs
# Secrets in connection strings, and in stores' error messages.
_STATED = re.compile(
    r"\b((?:AccountKey|SharedAccessSignature|x-amz-security-token)\s*[=:]\s*)[^\s;&\"'<>,]+",
    re.IGNORECASE,
)
# Environment variables with a secret, not with its location.
_SECRET_NAME = re.compile(
    r"(?!.*(_ID|_FILE|_PATH|_DIR|_UR[IL]|_CREDENTIALS)$)"
    r".*(SECRET|TOKEN|PASSW|CREDENTIAL|SAS_KEY|CONNECTION_STRING"
    r"|(ACCOUNT|ACCESS|MASTER|API|PRIVATE)_KEY)",
    re.IGNORECASE,
)
# Numbers beyond have an exponent in messages.
_TINY, _LARGE = 1e-12, 1e15
_STRING_OR_EXPONENT = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?e[+-]\d+')
_LEAST_SECRET = 8  # characters; shorter ones occur in any text


def printable(text: str, *, keeps: str = "\n\t") -> str:
    r"""Return the text with control characters escaped, except those of its layout.

    The escapes are JSON's, such as \u001b, so JSON keeps its meaning.
    """
    rest = text
    for kept in keeps:
        rest = rest.replace(kept, "")
    if rest.isprintable():  # a tenth of the time
        return text
    return _CONTROL.sub(
        lambda match: match[0] if match[0] in keeps else f"\\u{ord(match[0]):04x}", text
    )


def shown(text: str) -> str:
    """Remove secrets and control characters."""
    return printable(without_secrets(text))


def one_line(text: str) -> str:
    """Like `shown`, in one line: line ends are escaped."""
    return printable(_LINE_END.sub(" ", without_secrets(text)), keeps="")


def without_secrets(text: str) -> str:
    """Replace passwords, signatures and tokens by ***.

    Covers the user info and all query values of URLs, keys in connection strings, and the values
    of environment variables for secrets.
    """
    text = _URL.sub(lambda match: f"{match[1]}://{_open_part(match[1].lower(), match[2])}", text)
    text = _STATED.sub(r"\1***", text)
    if len(text) < _LEAST_SECRET:
        return text  # os.environ decodes every variable
    for name, value in os.environ.items():
        if len(value) >= _LEAST_SECRET and value in text and _SECRET_NAME.match(name):
            text = text.replace(value, "***")
    return text


def _open_part(scheme: str, rest: str) -> str:
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if at and (scheme not in _CONTAINERS or ":" in user):
        authority = f"***@{host}"
    path, mark, query = (authority + slash + path).partition("?")
    if not mark or (scheme not in _WEB and "=" not in query):  # a glob
        return path + mark + query
    stated = urllib.parse.parse_qsl(query, keep_blank_values=True)
    shown = [f"{name}={value if name in _OPEN else '***'}" for name, value in stated]
    return f"{path}?{'&'.join(shown) or '***'}"


def counted(count: int, what: str) -> str:
    """Format a count: "1 shard", "2 shards", "2 classes"."""
    plural = "es" if what.endswith("s") else "s"
    return f"{count:,} {what}{'' if count == 1 else plural}"


_MOST_LISTED, _LONGEST_LISTED = 6, 100


def listed(words: Sequence[str]) -> str:
    """Join the first words of a list, long ones cut: `a, b, 7 more`."""
    more = [f"{len(words) - _MOST_LISTED} more"] if len(words) > _MOST_LISTED else []
    cut = [
        word if len(word) <= _LONGEST_LISTED else f"{word[:_LONGEST_LISTED]}…"
        for word in words[:_MOST_LISTED]
    ]
    return ", ".join([*cut, *more])


def size_text(num_bytes: int) -> str:
    """Format bytes as "17 B" or "4.2 GiB"."""
    size = float(num_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def number_text(value: float) -> str:
    """Format with four digits, or all digits of a large whole part: 0.9894, 0.000012, 23,950."""
    if 10_000 <= abs(value) < _LARGE:
        return f"{value:,.0f}"
    text = f"{value:.4g}"
    return plain_number(float(text)) if _TINY < abs(value) < 1 else text


def plain_number(value: float) -> str:
    """Format all digits without an exponent: 0.00001."""
    text = repr(value)
    return f"{decimal.Decimal(text):f}" if "e" in text and math.isfinite(value) else text


def plain_json(text: str) -> str:
    """Write the numbers in a JSON text without exponents."""
    return _STRING_OR_EXPONENT.sub(
        lambda found: found[0] if found[0][0] == '"' else plain_number(float(found[0])), text
    )


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded as UTF-8: it has no surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def reading_order(source: str) -> str:
    """Return a sort key with numbers in natural order: "a.csv:9" before "a.csv:10"."""
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), source)


def short_repr(shown: Any) -> str:
    """Format a dataclass object as its constructor call, without empty and default values."""
    said = []
    for field in dataclasses.fields(shown):
        value = getattr(shown, field.name)
        make = field.default_factory
        default = field.default if make is dataclasses.MISSING else make()
        if value != default and value not in ((), {}, ""):
            said.append(f"{field.name}={value!r}")
    return f"{type(shown).__name__}({', '.join(said)})"
