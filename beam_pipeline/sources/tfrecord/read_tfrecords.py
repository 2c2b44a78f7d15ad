"""Read TFRecord files of other programs, and copy their Examples byte for byte."""

import contextlib
import dataclasses
import difflib
import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import apache_beam as beam

from beam_pipeline import tfrecord
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import BeamTFRecordsError, ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.inspect.stored_example import expectations
from beam_pipeline.problems import Problem
from beam_pipeline.records import Consumed, Element, Expectation, FileRef, Record, Rejected
from beam_pipeline.running.gathering import Divide, Share
from beam_pipeline.sources.layout import Claim, Rank, claim_of_files, source_layout
from beam_pipeline.sources.paths import folder, joined, name_of, suffix
from beam_pipeline.sources.rejects import left_out
from beam_pipeline.sources.tables.parts import Part, divided, is_divisible
from beam_pipeline.sources.tfrecord.record_files import (
    RecordFile,
    find_record_files,
    has_record_name,
    kind_of_file,
)
from beam_pipeline.sources.tree import NOTHING, Ignored, Tree
from beam_pipeline.sources.unpacking import unpack_gzip, with_ranges
from tfrecord_dataset.format import feature_keys, metadata
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import list_specs
from tfrecord_dataset.format.frames import payload_of
from tfrecord_dataset.format.split_names import check_all_shards
from tfrecord_dataset.json_file import MAX_BYTES

# First records to inspect: in total, and per file.
_FIRST_RECORDS = 256
_FIRST_OF_A_FILE = 64

_FILES_LOOKED_INTO = 5


Listed = RecordFile | Rejected | Consumed


def refuse_conversions(config: BuildConfig) -> None:
    """Raise ConfigError for options that convert, since Examples are copied unchanged."""
    asked = {
        "--image-max-side": config.image.max_side,
        "--image-size": config.image.size,
        "--image-format": config.image.format != "keep",
        "--audio-sample-rate": config.audio.sample_rate,
        "--audio-mono": config.audio.mono,
    }
    for option, value in asked.items():
        if value:
            raise ConfigError(
                f"{option} converts, but records of TFRecord files are written unchanged; leave "
                "it out, or build from the raw files"
            )


def with_key_of(feature: Feature, keys: Collection[str]) -> Feature:
    """Return `feature` with its key in the records, bare if it has no further keys.

    Raises ConfigError if the records have no such key.
    """
    with_key = feature_keys.with_key_of(feature, keys, (feature.name,))
    if with_key is not None:
        subkeys = list_specs(with_key).keys() - {with_key.key}
        bare = not (subkeys and subkeys <= set(keys))
        if with_key.kind == "boxes" and not with_key.encoding:
            label, text = map(with_key.subkey, ("class/label", "class/text"))
            bare = label in keys and text not in keys
        return dataclasses.replace(with_key, bare=feature.bare or bare)
    if feature.kind == "sequence":  # the first records may lack it
        return dataclasses.replace(feature, bare=True)
    near = difflib.get_close_matches(feature.name, list(keys), n=1)
    raise ConfigError(
        f"feature {feature.name!r} of --schema has no key in the records, which have "
        f"{', '.join(sorted(keys))}; "
        + (f"did you mean {near[0]!r}?" if near else 'state its "key"')
    )


@dataclasses.dataclass
class ReadTFRecords(beam.PTransform):
    """Read TFRecord files, plain or gzip, as records `<file>:<number>` with unchanged Examples.

    Yields a Record for every frame after reading only its length; the file's name states the
    split. A truncated or damaged file yields the records before the damage, of gzip none, and one
    Rejected; files of another kind are Rejected.

    Attributes:
        path: A folder, a file, or a pattern of files.
        scratch: The folder where gzip files are unpacked.
        ignored: Files that are left out.
        allow_missing_shards: Whether numbered files may be missing. A single named file is read
            without the others.
    """

    path: str
    scratch: str
    ignored: Ignored = NOTHING
    allow_missing_shards: bool = False

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[Element]:
        files, rejected = find_record_files(self.path, self.ignored)
        if not self.allow_missing_shards and [file.path for file in files] != [self.path]:
            check_all_shards(file.relative for file in files)
        expected = expectations(first_records(files))
        described = _description(self.path, rejected)
        consumed = Consumed(paths=(*(file.path for file in files), *described))
        listed = [*files, *([] if described else rejected), consumed]
        shared = pipeline | "Files" >> Share(listed)  # Listed
        if any(is_divisible(size or 0) for size in storage.sizes(file.path for file in files)):
            shared = shared | "Parts" >> Divide(
                functools.partial(parts_of, scratch=self.scratch)
            )  # Listed
        return shared | "ListRecords" >> beam.FlatMap(
            list_records, self.scratch, expected
        )  # Element


def parts_of(file: Listed, scratch: str) -> list[Listed]:
    """Divide a large file by its records; one that cannot be unpacked is unchanged."""
    if isinstance(file, RecordFile):
        with contextlib.suppress(RecordError):  # the listing reports it
            path = _with_ranges(file, scratch)
            plain = dataclasses.replace(file, path=path, compressed=False)
            parts = divided(path, _smallest_parts(path))
            return [dataclasses.replace(plain, part=part) for part in parts]
    return [file]


def _smallest_parts(path: str) -> Iterator[Part]:
    with storage.opened(path) as handle:
        for number, (offset, length) in enumerate(tfrecord.spans(handle)):
            yield Part(offset, offset + length, number, length)


def _with_ranges(file: RecordFile, scratch: str) -> str:
    return (unpack_gzip if file.compressed else with_ranges)(file.path, scratch)


def list_records(
    file: Listed, scratch: str, expected: Mapping[str, Expectation]
) -> Iterator[Element]:
    """Yield a Record for every whole frame of `file`, and a Rejected if they end too early."""
    if isinstance(file, Rejected | Consumed):
        yield file
        return
    start, end, first, _ = file.part
    number = -1
    try:
        path = _with_ranges(file, scratch)
        with storage.opened(path) as handle:
            for number, (offset, length) in enumerate(
                tfrecord.spans(handle, start, end, first), first
            ):
                yield Record(
                    key=f"{file.relative}:{number}",
                    features={},
                    split=file.split,
                    example=FileRef(path=path, offset=offset, length=length),
                    expected=expected,
                )
    except RecordError as error:
        yield Rejected.of(file.relative, error)
    else:
        if number < 0:
            yield left_out(file.relative, "no records", "the file is empty")


def first_records(files: Sequence[RecordFile]) -> Iterator[tuple[str, bytes]]:
    """Yield (source, payload) of the first undamaged records of a dataset."""
    firsts = itertools.chain.from_iterable(map(_first_of_file, files))
    return itertools.islice(firsts, _FIRST_RECORDS)


def _first_of_file(file: RecordFile) -> Iterator[tuple[str, bytes]]:
    with contextlib.suppress(RecordError):  # the listing reports it
        records = tfrecord.read_file(file.path, file.compressed)
        for number, (_, frame) in enumerate(itertools.islice(records, _FIRST_OF_A_FILE)):
            with contextlib.suppress(RecordError):
                yield f"{file.relative}:{number}", payload_of(frame)


def claim_tfrecords(tree: Tree, config: BuildConfig) -> Claim | None:
    """Claim files named like TFRecord files if the first ones are TFRecord files.

    The shards of this project's own datasets are claimed with the features in metadata.json.
    """
    files = tree.files()
    built = _built(files, tree.path) if tree.is_folder else {}
    schema = config.schema
    if built:
        place, facts = next(iter(built.items()))
        shards = itertools.chain.from_iterable(facts.splits.values())
        files_to_read: Sequence[str] = [joined(place, shard.file) for shard in shards]
        schema = schema or tuple(facts.features.values())
    else:
        named = list(filter(has_record_name, files))
        likely = named or [name for name in tree.files_of("") if suffix(name) != "tar"]
        first = [name for name in likely[:_FILES_LOOKED_INTO] if is_tfrecord(tree.path(name))]
        files_to_read = (
            (named if first else []) or first or (files if config.layout == "tfrecord" else [])
        )
    claim = claim_of_files("tfrecord", tree, files_to_read)
    if claim is None:
        return None
    refuse_conversions(config)
    if len(built) > 1:
        found = {"path": tree.input, "datasets": ", ".join(built)}
        problem = Problem(code="several datasets", facts=found)
        return dataclasses.replace(claim, rank=Rank.DATASET, problem=problem)
    if built:
        claim = dataclasses.replace(claim, rank=Rank.DATASET)
    if not schema:
        return claim
    keys = expectations(first_records(find_record_files(tree.input, tree.ignored)[0]))
    schema = tuple(with_key_of(feature, keys) for feature in schema)
    return dataclasses.replace(claim, options={"schema": schema})


def _built(files: Sequence[str], path_of: Callable[[str], str]) -> dict[str, metadata.Metadata]:
    """Return the metadata of each dataset of this project, by folder.

    Empty if one of `files` is outside these folders.
    """
    described = [file for file in files if name_of(file) == metadata.FILE]
    built = {}
    for file in described[:_FILES_LOOKED_INTO]:
        with contextlib.suppress(BeamTFRecordsError):  # another program's
            data = storage.read_bytes(FileRef(path=path_of(file)), MAX_BYTES)
            built[folder(file)] = metadata.parse_metadata(data, file)
    places = tuple(f"{place}/" if place else "" for place in built)
    return built if all(file.startswith(places) for file in files) else {}


def _description(path: str, rejected: Sequence[Rejected]) -> list[str]:
    """Return the paths of these files if all of them describe a dataset of this project."""
    if any(each.bad for each in rejected):
        return []
    paths = {each.source: joined(path, each.source) for each in rejected}
    return [*paths.values()] if _built([*paths], paths.__getitem__) else []


def is_tfrecord(path: str) -> bool:
    """Whether a file, or its content if it is gzip, starts like a TFRecord file."""
    try:
        return kind_of_file(path) is not None
    except RecordError:
        return False


_SIGN = "files that begin like TFRecord files"
LAYOUT = source_layout("tfrecord", _SIGN, ReadTFRecords, claim_tfrecords)
