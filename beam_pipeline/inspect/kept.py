"""What Inspect found in a batch, kept beside the receipts, so that a next attempt reads it again.

A build whose later stages were cut off asks by the digest of a batch, and of how it is inspected,
what was found in it. That is taken where it is whole, was found by the same versions of code, and
no file has changed: one that has, since, is found at the write by its hash.

Others may write where a build does. So of what is read there only values of `records` are made,
which call nothing, and they may name no other file than the batch does. Others may read there, too:
of files whose URLs hold secrets nothing is kept.

No Beam here: worker processes import this module.
"""

import contextlib
import dataclasses
import functools
import hashlib
import io
import logging
import pickle
import platform
import zlib
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import beam_pipeline
from beam_pipeline import records
from beam_pipeline.errors import BeamTFRecordsError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.inspect.deferred import deferred_values
from beam_pipeline.records import (
    Element,
    FileRef,
    Inspected,
    InspectedElement,
    Record,
    Rejected,
)
from beam_pipeline.running.parallel import files_of, map_threads
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.store.urls import unsigned

_LOG = logging.getLogger(__name__)
# Files of fewer bytes are read and checked in little more time than it takes to ask for each
# whether it has changed (docs/resume.md).
_LEAST_BYTES_A_FILE = 16 << 10
# Of what was read, which long texts would exceed.
_MOST_KEPT = 1 / 8
_MAX_BYTES = 64 << 20
_DIGEST_BYTES = 32
# What decodes files, and makes tokens.
_LIBRARIES = ("numpy", "pillow", "imagehash", "soundfile", "soxr", "sentencepiece", "tokenizers")
_KINDS = {
    name: kind
    for name, kind in vars(records).items()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind is not records.Deferred
} | {ImageSize.__name__: ImageSize}
# What Inspect adds to a record; of `deferred`, the ranges where the values lie.
_FOUND = ("features", "notes", "content_digest", "num_bytes", "deferred", "example", "look")


def kept_file(folder: str, *decide: bytes) -> str:
    """Where lies what was found in a batch.

    Args:
        folder: Of all batches of a build.
        decide: All that decides what is found, but the files and the code.
    """
    digest = hashlib.sha256()
    for part in decide:
        digest.update(hashlib.sha256(part).digest())
    return storage.join(folder, digest.hexdigest()[:_DIGEST_BYTES])


def keep(path: str, inspected: Iterable[InspectedElement], reader: storage.Reader) -> None:
    """Keeps what was found in a batch, where that is worth it; where it fails, nothing is kept.

    Args:
        path: As `kept_file` says.
        inspected: The elements of the batch, inspected.
        reader: What they were read by; it has noted the files' versions.
    """
    many_bytes = reader.num_bytes >= _LEAST_BYTES_A_FILE * max(1, len(reader.versions))
    if not many_bytes or not all(reader.versions.values()):
        return
    if any(unsigned(path) != path for path in reader.versions):
        return  # signatures differ in a next attempt anyway
    found = [_found(each) for each in inspected]
    data = pickle.dumps((_code(), reader.versions, found), protocol=pickle.HIGHEST_PROTOCOL)
    packed = zlib.compress(data, level=1)
    if len(data) <= _MAX_BYTES and len(packed) <= _MOST_KEPT * reader.num_bytes:
        with contextlib.suppress(OSError, BeamTFRecordsError):
            storage.write_bytes(path, hashlib.sha256(packed).digest() + packed)


def taken(
    path: str, elements: Sequence[Element], tokenizer: str, threads: int
) -> list[InspectedElement] | None:
    """The elements of a batch as an earlier attempt has inspected them; None where it has not.

    Args:
        path: As `kept_file` says.
        elements: The batch.
        tokenizer: As the rules have it.
        threads: Files at once that are asked for their versions.
    """
    with contextlib.suppress(RecordError, OSError):  # there is none
        data = storage.read_bytes(FileRef(path=path), _MAX_BYTES)
        try:
            code, versions, found = _unpacked(data)
            if code != _code() or versions != _versions(elements, threads):
                return None
            return [
                _restored(element, each, tokenizer)
                for element, each in zip(elements, found, strict=True)
            ]
        except Exception as error:  # whoever has written it may have written anything
            _LOG.warning("%s is damaged, so its files are inspected again: %s", path, error)
    return None


def _unpacked(data: bytes) -> tuple[Any, Any, Any]:
    digest, packed = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if hashlib.sha256(packed).digest() != digest:
        raise ValueError("it is damaged")
    code, versions, found = _Values(io.BytesIO(_inflated(packed))).load()
    return code, versions, found


def _inflated(packed: bytes) -> bytes:
    inflater = zlib.decompressobj()
    data = inflater.decompress(packed, _MAX_BYTES)
    if not inflater.eof:
        raise ValueError("it is larger than any that is kept")
    return data


class _Values(pickle.Unpickler):
    """Makes values of `records`, and nothing else that has a name."""

    def find_class(self, module: str, name: str) -> Any:
        kind = _KINDS.get(name)
        if kind is None or module != kind.__module__:
            raise pickle.UnpicklingError(f"{module}.{name} is no value of a record")
        return kind


@functools.cache
def _code() -> str:
    """What tells the code from other versions of it, which may find something else."""
    own = hashlib.sha256()
    for path in sorted(Path(beam_pipeline.__file__).parent.rglob("*.py")):
        own.update(path.read_bytes())
    versions = [f"Python {platform.python_version()}", own.hexdigest()]
    for name in _LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{name} {metadata.version(name)}")
    return ", ".join(versions)


def _versions(elements: Iterable[Element], threads: int) -> dict[str, str]:
    """The versions of the files of a batch, but for those that cannot be read."""
    paths = list(dict.fromkeys(file.path for each in elements for file in files_of(each)))
    versions = zip(paths, map_threads(_version, paths, threads), strict=True)
    return {path: version for path, version in versions if version}


def _version(path: str) -> str:
    try:
        return storage.version(path)
    except RecordError:
        return ""


def _found(inspected: InspectedElement) -> dict[str, Any] | Rejected | None:
    """What is kept of an inspected element; of classes nothing."""
    match inspected:
        case Inspected():
            ranges = {name: value.file for name, value in inspected.deferred.items()}
            return {name: getattr(inspected, name) for name in _FOUND} | {"deferred": ranges}
        case Rejected():
            return inspected
    return None


def _restored(element: Element, found: Any, tokenizer: str) -> InspectedElement:
    """An element with what was found in it.

    Raises:
        ValueError: That is not of this element.
    """
    if not isinstance(element, Record):
        return element
    if isinstance(found, Rejected):
        return found
    ranges = found["deferred"]
    deferred = deferred_values(element.features, ranges, tokenizer)
    inspected = Inspected.of(element, **found | {"deferred": deferred})
    if isinstance(inspected.example, FileRef) != (element.example is not None):
        raise ValueError("it is of another kind of record")
    named = {file.path for file in files_of(element)}
    files = [*files_of(inspected), *ranges.values()]
    if not all(file.path in named for file in files):
        raise ValueError("it is of other files")
    return inspected
