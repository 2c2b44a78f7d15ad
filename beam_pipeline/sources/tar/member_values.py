"""Classify members of a tar by extension, and read the values of small ones.

Extensions are those of WebDataset: https://github.com/webdataset/webdataset (autodecode).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.files.archive.member_paths import Member
from beam_pipeline.running.pickling import fast_pickle
from beam_pipeline.sources.paths import media_kind
from beam_pipeline.sources.rejects import malformed
from beam_pipeline.sources.tables.fit import LONG_VALUE_BYTES, is_long
from beam_pipeline.sources.tables.types import Kind, kind_of_json, kind_of_text
from tfrecord_dataset.format.feature import Feature

# The first of these extensions that a record has is its class.
LABEL_EXTENSIONS = ("cls", "class", "cls2", "index", "inx")
# Forms by an extension's last part; `paths.media_kind` detects media.
_FORM_OF_EXTENSION = {
    extension: form
    for form, extensions in (
        ("label", "cls class cls2"),
        ("value", "index inx id count"),
        ("text", "txt text transcript"),
        ("pickled", "pyd pickle pkl pth pt"),
        ("json", "json"),
    )
    for extension in extensions.split()
}
# Forms whose values are read into the record; others are references.
READ = frozenset({"label", "value", "text", "json"})
# Remedy for files that are grouped wrongly because of a dot in their names.
FIRST_DOT = "a record's name ends at the first dot of a file's name, so take other dots out of it"
# Form of members to leave out.
LEFT_OUT = "left out"
# Size limit of a value in a record.
_MAX_READ_BYTES = 16 << 20
_DECLARED_FORMS = {
    **dict.fromkeys(("scalar", "class_label", "text", "tensor", "sequence"), "text"),
    **{kind: kind for kind in ("image", "audio", "bytes")},
    "map": "image",
}


@fast_pickle
class LongValue(NamedTuple):
    """A long text, or a long value of a JSON object, that stays in the tar.

    Attributes:
        kind: Kind of the value.
        name: Name in the JSON object; None if the member is the value.
    """

    kind: Kind | None
    name: str | None = None


@fast_pickle
class TarPart(NamedTuple):
    """A member of a record.

    Attributes:
        extension: Part of the name after the first dot, in lower case.
        form: "image", "audio", "array", "label", "value", "text", "json", "bytes";
            or LEFT_OUT, once per extension of a tar.
        offset, length: Range of bytes in the tar.
        value: The text for forms in READ, or the parsed value for "json"; LongValue if long.
        problem: (reason, detail) if the record cannot be used.
    """

    extension: str
    form: str
    offset: int
    length: int
    value: Any = None
    problem: tuple[str, str] | None = None


def values_of(part: TarPart) -> Iterator[tuple[str, Any]]:
    """Yield the values of a part by extension, or by "<extension>/<name>" for JSON."""
    if part.form != "json":
        yield part.extension, part.value
        return
    for name, value in _members(part.value).items():
        yield f"{part.extension}/{name}", value


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"": value}


def name_parts(name: str) -> tuple[str, str] | None:
    """Return the record's name and the extension of a member; None if it is not data.

    The extension is the part after the first dot of the file's name; "" without a dot. Names that
    start with a dot or with "__" are not data, as in WebDataset.
    """
    folder, _, file = name.rpartition("/")
    if file.startswith((".", "__")) or f"/{folder}".rpartition("/.")[1] or "__MACOSX" in folder:
        return None
    base, _, extension = file.partition(".")
    return (f"{folder}/{base}" if folder else base), extension.lower()


def stem_of(extension: str) -> str:
    """Return "seg" for "seg.png", and "" for "png"."""
    return extension.rpartition(".")[0]


def form_of(extension: str, schema: Sequence[Feature] = ()) -> str:
    """Return the form of a member: as declared in `schema`, else by its extension."""
    last = extension.rpartition(".")[2]
    form = _FORM_OF_EXTENSION.get(last) or media_kind(f"x.{last}") or "bytes"
    if form not in ("array", "json", "pickled"):
        names = (extension, stem_of(extension))
        declared = (feature.kind for feature in schema if feature.name in names)
        form = _DECLARED_FORMS.get(next(declared, ""), form)
    return form


def read_part(
    member: Member,
    extension: str,
    read: Callable[[int, int], bytes],
    schema: Sequence[Feature] = (),
) -> TarPart:
    """Make the part of a member, with its value if small; `read` reads (offset, length)."""
    form = form_of(extension, schema)
    value, problem = None, member.problem
    try:
        if form == "pickled":
            raise RecordError(
                "pickled member",
                f"{member.name!r} could run a program when it is read; store its values as .json "
                "or .npy",
            )
        if form in READ and not problem:
            value = _value(member, form, read)
            if member.length >= LONG_VALUE_BYTES and form in ("text", "json"):
                value = _shortened(value, form)
    except RecordError as error:
        problem = (error.reason, error.detail)
    return TarPart(extension, form, member.offset, member.length, value, problem)


def _shortened(value: Any, form: str) -> Any:
    if form == "text":
        return LongValue(kind_of_text(value))
    return {
        name: LongValue(kind_in_json(value), name) if is_long(value) else value
        for name, value in _members(value).items()
    }


def kind_in_json(value: Any) -> Kind | None:
    """Return the kind of a value; text for an object or a mixed list."""
    try:
        return kind_of_json(value)
    except RecordError:
        return str


def text_of(data: bytes) -> str:
    """Decode the text of a member; raises UnicodeDecodeError."""
    return data.decode("utf-8-sig")


def _value(member: Member, form: str, read: Callable[[int, int], bytes]) -> Any:
    if member.length > _MAX_READ_BYTES:
        raise RecordError(
            "text too large",
            f"{member.name!r} has {member.length:,} bytes, of {_MAX_READ_BYTES:,} at most",
        )
    try:
        text = text_of(read(member.offset, member.length))
        if form != "json":
            return text
        value: Any = json.loads(text)
        if "\\u" in text:  # a lone escape such as \ud800 is JSON, but not a character
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError as error:
        raise RecordError("not UTF-8", f"{member.name!r}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise malformed(f"{member.name!r}: not JSON: {error}") from error
    return value
