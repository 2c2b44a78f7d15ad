"""Readers of each format: the functions behind commands and the API, run in this process."""

import contextlib
import dataclasses
import functools
import io
import random
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from cases.reading import source_at
from damages import edit
from eager_runner import yielded
from file_bytes import zip_bytes
from inspecting import encoded, inspect_record, schema_of

import beam_pipeline
import trainer
from beam_pipeline.cli.results import examples
from beam_pipeline.describe.record_text import as_text
from beam_pipeline.errors import BeamTFRecordsError, DataError
from beam_pipeline.files import storage
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.records import Array, Audio, FileRef, Image, Map, Record, Value
from beam_pipeline.schema.conformance import check_names
from beam_pipeline.schema.declaration import read_schema
from beam_pipeline.write.encoding import Encoder
from fuzz import corpus
from fuzz.mutation import (
    json_mutated,
    mutated,
    seal_frames,
    seal_ogg,
    seal_png,
    sealed_text,
    unsealed_text,
)
from tfrecord_dataset.format.frames import framed
from tfrecord_dataset.format.metadata import FileEntry
from trainer.dataset import opening

RULES = Rules()
# (data, an empty folder) to the number of rejects.
Reads = Callable[[bytes, Path], int]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Format:
    """A format and its reader.

    Attributes:
        corpus: Valid files.
        read: Reads a case.
        seal: Fixes checksums, applied to half of the cases.
        change: Format-specific mutation of a share of the cases; None for none.
        share: That share.
        cases_for_one: Number of cases of other formats that take as long as one.
    """

    corpus: Callable[[], list[bytes]]
    read: Reads
    seal: Callable[[bytes], bytes] | None = None
    change: Callable[[random.Random, bytes], bytes] | None = None
    share: float = 0.5
    cases_for_one: int = 1


def _media(kind: Callable[..., Value], name: str) -> Reads:
    """Inspects a file and encodes it as for a shard."""

    def read(data: bytes, folder: Path) -> int:
        path = folder / name
        path.write_bytes(data)
        value = kind(file=FileRef(path=str(path)))
        _finish(inspect_record(Record(key="x", features={"x": value}), RULES))
        return 0

    return read


def _finish(record: Record) -> None:
    schema = schema_of(record)
    if not schema:
        raise DataError("no record has a value")  # as a build does
    check_names(schema)
    encoded(Encoder(schema=schema, rules=RULES), record)


def _tree(data: bytes, folder: Path) -> int:
    """The files of a case of `tests/cases`, as a build reads them."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(folder)
    return _read(folder / "input", (folder / "options").read_text())


def _hdf5(data: bytes, folder: Path) -> int:
    (folder / "a.h5").write_bytes(data)
    return _read(folder / "a.h5")


def _read(path: Path, options: str = "INPUT") -> int:
    """Reads an input whose media exist; inspects and encodes its records."""
    image, sound = path.parent / "a.png", path.parent / "a.wav"
    image.write_bytes(corpus.images("PNG", "RGB")[0])
    sound.write_bytes(corpus.waves()[0])
    there: dict[type, Value] = {
        Image: Image(file=FileRef(path=str(image))),
        Audio: Audio(file=FileRef(path=str(sound))),
    }
    taken = 0
    for each in yielded(source_at(path, options)[1]):
        if isinstance(each, Record):
            values = each.features.items()
            has_map = any(isinstance(value, Map) for _, value in values)  # has its image's size
            features = {
                name: there.get(type(value), value)
                for name, value in values
                if not (has_map and isinstance(value, Image))
            }
            with contextlib.suppress(BeamTFRecordsError):
                inspected = inspect_record(dataclasses.replace(each, features=features), RULES)
                if not each.example:
                    _finish(inspected)
                taken += 1
    return not taken


def _schema(data: bytes, folder: Path) -> int:
    """Reads a declaration of features as `build` and `train` do."""
    path = folder / "schema.json"
    path.write_bytes(data)
    refused = 0
    for read in (read_schema, opening.read_schema):
        try:
            read(str(path))
        except BeamTFRecordsError:
            refused += 1
    return refused


def _zip(data: bytes, folder: Path) -> int:
    """Reads all members, by name and by position, whole and in pieces."""
    path = folder / "a.zip"
    path.write_bytes(data)
    refused = 0
    for file in storage.list_files(f"{path}:"):
        for each in (file.path, storage.resolved(file.path)):
            try:
                whole = storage.read_bytes(FileRef(path=each), 1 << 20)
                with storage.opened(each) as handle:
                    assert handle.read() == whole
            except BeamTFRecordsError:
                refused += 1
    return refused


def _tfrecord(data: bytes, folder: Path) -> int:
    """Reads a TFRecord file as input of a build, then opens it for training."""
    path = folder / "a.tfrecord"
    path.write_bytes(data)
    refused = 0
    try:
        for split in trainer.open(str(path)).splits.values():
            split.index()
    except BeamTFRecordsError:
        refused += 1
    return refused + _read(path)


def _example(data: bytes, folder: Path) -> int:
    return _tfrecord(framed(data), folder)


def _of_dataset(name: str, *, stated: bool) -> Reads:
    """Verifies, shows and opens for training a dataset with this file."""

    def read(data: bytes, folder: Path) -> int:
        directory = folder / "d"
        shutil.copytree(corpus.GOLDEN, directory)
        (directory / name).write_bytes(data)
        if stated:
            entry = dataclasses.asdict(FileEntry.of(data))
            edit(directory / "metadata.json", lambda facts: facts["files"].update({name: entry}))
        refused = 0
        try:
            for split in trainer.open(str(directory)).splits.values():
                split.index()
        except BeamTFRecordsError:
            refused += 1
        info = beam_pipeline.open(str(directory))
        refused += len(beam_pipeline.verify(info))
        for _, example, _ in examples(info, None, 2):
            as_text(example, info.schema)
        return refused

    return read


def _json(draw: random.Random, data: bytes) -> bytes:
    return json_mutated(draw, data.decode()).encode(errors="surrogatepass")


def _in_zip(draw: random.Random, data: bytes) -> bytes:
    """Mutates one file in a zip: its JSON, the JSON of its lines, or a nested file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    names = [part for part in parts if parts[part] and part != corpus.OPTIONS]
    if not names:
        return mutated(draw, data, [data])
    name = draw.choice(names)
    ending = name.rpartition(".")[2]
    change = _CHANGES.get(ending) if draw.random() < 0.5 else None
    try:
        parts[name] = change(draw, parts[name]) if change else _changed(draw, name, parts)
    except (ValueError, zipfile.BadZipFile):  # not JSON, as in some cases, or not a zip
        parts[name] = _changed(draw, name, parts)
    return zip_bytes(parts)


def _changed(draw: random.Random, name: str, parts: Mapping[str, bytes]) -> bytes:
    return mutated(draw, parts[name], [*filter(None, parts.values())])


def _json_lines(draw: random.Random, data: bytes) -> bytes:
    return b"\n".join(_json(draw, line) for line in data.splitlines())


_CHANGES = {
    **dict.fromkeys(("json", "geojson"), _json),
    **dict.fromkeys(("jsonl", "ndjson"), _json_lines),
    **dict.fromkeys(("zip", "xlsx", "npz"), _in_zip),
}


def _sealed_json(draw: random.Random, data: bytes) -> bytes:
    return sealed_text(json_mutated(draw, unsealed_text(data)))


def _seal(data: bytes) -> bytes:
    """Seals a file again whose JSON was mutated as bytes."""
    end = data.rfind(b',\n  "checksum"')
    text = data[:end] + b"\n}" if end >= 0 else data
    return sealed_text(text.decode(errors="surrogateescape"))


# Valid files, their kind, the file name to read them under, and the function that seals them.
_MEDIA = {
    "jpeg": (corpus.jpegs, Image, "a.jpg", None),
    "png": (lambda: corpus.images("PNG", "RGB", "LA", "P", "I;16"), Image, "a.png", seal_png),
    "webp": (corpus.webps, Image, "a.webp", None),
    "gif, bmp, tiff": (corpus.plain_images, Image, "a.tif", None),
    "other images": (corpus.other_images, Image, "a.ppm", None),
    "wav": (corpus.waves, Audio, "a.wav", None),
    "flac": (lambda: corpus.sounds("FLAC", "PCM_16", "PCM_24"), Audio, "a.flac", None),
    "ogg": (lambda: corpus.sounds("OGG", "VORBIS", "OPUS"), Audio, "a.ogg", seal_ogg),
    "mp3": (corpus.mp3s, Audio, "a.mp3", None),
    "npy": (corpus.npys, Array, "a.npy", None),
    "npz": (corpus.npzs, Array, "a.npz", None),
    "map": (corpus.maps, Map, "a.png", seal_png),
}
# Files of a dataset, by format name.
_FILES = {
    **{name: f"{name}.json" for name in ("features", "dataset_info", "statistics")},
    "index": f"idx/{corpus.SHARD}.idx",
    "parquet": f"index/{corpus.SHARD}.parquet",
}
FORMATS = {
    **{
        name: Format(corpus=made, read=_media(kind, file), seal=seal)
        for name, (made, kind, file, seal) in _MEDIA.items()
    },
    "zip": Format(corpus=corpus.zips, read=_zip),
    "schema": Format(corpus=corpus.schemas, read=_schema, change=_json),
    "hdf5": Format(corpus=corpus.hdf5s, read=_hdf5, cases_for_one=3),
    **{
        layout: Format(
            corpus=functools.partial(corpus.trees, layout),
            read=_tree,
            change=_in_zip,
            share=1,
            cases_for_one=2,
        )
        for layout in corpus.LAYOUTS
    },
    "tfrecord": Format(corpus=corpus.records, read=_tfrecord, seal=seal_frames),
    "example": Format(corpus=corpus.examples, read=_example),
    "metadata": Format(
        corpus=lambda: corpus.golden("metadata.json"),
        read=_of_dataset("metadata.json", stated=False),
        seal=_seal,
        change=_sealed_json,
        cases_for_one=10,
    ),
    **{
        name: Format(
            corpus=functools.partial(corpus.golden, path),
            read=_of_dataset(path, stated=True),
            change=_json if path.endswith(".json") else None,
            cases_for_one=10,
        )
        for name, path in _FILES.items()
    },
}
