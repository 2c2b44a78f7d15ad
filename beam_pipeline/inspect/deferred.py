"""Values in byte ranges of files, read only when needed.

No Beam here: worker processes import this module.
"""

import dataclasses
from collections.abc import Mapping

from beam_pipeline.batch import Examples, by_row, columns_of
from beam_pipeline.errors import RecordError, SourceChangedError
from beam_pipeline.files import storage
from beam_pipeline.files.hashed import hashed
from beam_pipeline.kinds.array import measure
from beam_pipeline.kinds.kind import MAX_RECORD_BYTES
from beam_pipeline.records import Array, Deferred, FileRef, Value, replaced


def read_deferred(
    features: Mapping[str, Value],
    read: storage.ReadFile = storage.read_bytes,
) -> tuple[dict[str, Value], dict[str, Deferred]]:
    """Return all values, and the byte ranges with their sha256 by feature.

    A range that several values share is read once.
    """
    values = dict(features)
    deferred: dict[str, Deferred] = {}
    ranges: dict[FileRef, tuple[FileRef, bytes]] = {}
    for name, value in features.items():
        if isinstance(value, Deferred):
            if value.file not in ranges:
                data = read(value.file, MAX_RECORD_BYTES)
                file = value.file if value.is_copy else hashed(value.file, data)
                ranges[value.file] = file, data
            file, data = ranges[value.file]
            values[name] = value.read(data)
            deferred[name] = replaced(value, file=file)
    return values, deferred


def whole(
    key: str, features: Mapping[str, Value], read: storage.ReadFile = storage.read_bytes
) -> dict[str, Value]:
    """Return the features of an inspected example with the values of its byte ranges.

    Raises:
        SourceChangedError: A range has changed since Inspect.
    """
    try:
        values, deferred = read_deferred(features, read)
    except RecordError as error:
        raise changed(key, str(error)) from error
    for name, now in deferred.items():
        stated = features[name]
        assert isinstance(stated, Deferred)
        if now.file.sha256 != stated.file.sha256:
            raise changed(key, hash_change(stated.file, now.file.sha256))
        value = values[name]
        if isinstance(value, Array):
            values[name] = measure(value)[0]
    return values


def with_values(examples: Examples) -> Examples:
    """Return inspected examples with the values of their byte ranges; raises as `whole`."""
    deferred = {
        name: values
        for name, values in examples.features.items()
        if Deferred in set(map(type, values))
    }
    if not deferred:
        return examples
    rows = by_row(deferred, len(examples))
    read = [whole(key, row) for key, row in zip(examples.fields["key"], rows, strict=True)]
    return dataclasses.replace(examples, features={**examples.features, **columns_of(read)})


def hash_change(file: FileRef, sha256: str) -> str:
    """Describe the change of a file's hash, for messages."""
    return (
        f"the sha256 of {file.path} was {file.sha256[:12]}… at the inspection and is "
        f"{sha256[:12]}… now"
    )


def changed(key: str, how: str) -> SourceChangedError:
    """Return the error for a file that changed while the job ran."""
    return SourceChangedError(
        f"a file of record {key} changed while the job ran: {how}; run the build again "
        "once nothing writes to its input"
    )
