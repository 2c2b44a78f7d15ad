"""Images, audio, arrays or texts in class folders, or with a pattern for their paths."""

import contextlib
import dataclasses
from collections.abc import Iterator

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.problems import ProblemError
from beam_pipeline.records import (
    ClassLabel,
    Consumed,
    Deferred,
    Element,
    FileRef,
    Record,
    Rejected,
    Value,
)
from beam_pipeline.running.gathering import Merge
from beam_pipeline.running.pickling import unpack
from beam_pipeline.sources.folders.npz_record import features_of_npz
from beam_pipeline.sources.folders.pattern import PathPattern, parse_pattern
from beam_pipeline.sources.folders.structure import (
    Structure,
    StructureByKind,
    file_kind,
    main_kind,
    merged,
    structures,
)
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.listing import ListNames
from beam_pipeline.sources.paths import below, input_folder, left_out
from beam_pipeline.sources.tables.fitting import OF_FILE
from beam_pipeline.sources.tables.labels import class_name
from beam_pipeline.sources.tables.types import convert
from beam_pipeline.sources.unread import not_read


@dataclasses.dataclass
class ReadClassFolders(beam.PTransform):
    """Files in one folder per class: `root/<class>/…/<file>` or `root/<split>/<class>/…/<file>`.

    The dataset is of images, audio or arrays, whatever there are most of by their suffixes, or of
    texts if there are none of these. Yields for the files of that kind below `root`:

    - a Record {image, label} ({audio, label}, …), whatever the content, whose key is the path. If
      no file is in a class folder there are no labels.
    - Rejected "no class folder", bad, for a file outside every class folder.
    - Rejected "unused image" (…), not bad, in a folder named after what its files are: masks/.

    The first folders are splits if all of them have a split's name; the next folder is the class.
    Names of splits are kept as written. Hidden files are not read.

    With a pattern no folder is a class or a split, unless the pattern names it: what it finds in a
    path are columns, int, else float, else str, whatever holds all values; "label" is a
    ClassLabel, "split" the split. A path that it does not match is Rejected, bad. If it says
    nothing of folders, and the first folders are all splits, they are.

    The files are listed once, and wait, packed (4 to 25 bytes a file), until it is known what
    folders there are.

    Attributes:
        root: The folder, local or remote.
        path_pattern: See `pattern.parse_pattern`; None for class folders.
        one_class: Whether all files may be of one class.
        ignored: Files and folders that are left out.
        is_whole: Whether `root` is all of the input: then other files are rejected, too, and
            the tree need not be listed again for them.

    Raises:
        ConfigError: `root` is not a folder, or the pattern cannot be used; or, while the pipeline
            runs, the folders are not classes.
    """

    root: str
    path_pattern: str | None = None
    one_class: bool = False
    ignored: Ignored = NOTHING
    is_whole: bool = False

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        pattern = parse_pattern(self.path_pattern) if self.path_pattern else None
        root = input_folder(self.root)
        listed = pipeline | ListNames(root, ignored=self.ignored)  # bytes
        by_kind = (
            listed
            | "LookAtFiles" >> beam.Map(look_into, pattern)  # StructureByKind
            | "MergeLooks" >> Merge(merged)  # StructureByKind
            | "CheckFolders" >> beam.Map(checked, root, pattern, self.one_class)  # StructureByKind
        )
        return listed | "MakeRecords" >> beam.FlatMap(
            records_of, root, pattern, AsSingleton(by_kind), is_whole=self.is_whole
        )  # Record | Rejected


def look_into(batch: bytes, pattern: PathPattern | None) -> StructureByKind:
    """The structure of the files of a batch."""
    return structures(unpack(batch), pattern)


def checked(
    by_kind: StructureByKind, root: str, pattern: PathPattern | None, one_class: bool
) -> StructureByKind:
    """The structure of all files.

    Raises:
        ProblemError: The folders are not classes, and there is no pattern.
    """
    structure = by_kind.get(main_kind(by_kind), Structure())
    if pattern is None and (problem := structure.problem(root, one_class=one_class)):
        raise ProblemError(problem)
    return by_kind


def records_of(
    batch: bytes,
    root: str,
    pattern: PathPattern | None,
    found: StructureByKind,
    *,
    is_whole: bool = False,
) -> Iterator[Element]:
    """Make the records of the files in a batch.

    Args:
        batch: Packed names of files, by folder.
        root: What the folders are below.
        pattern: As in `ReadClassFolders`.
        found: The structure of all files.
        is_whole: Whether files of other kinds are rejected.
    """
    kind = main_kind(found)
    structure = found.get(kind, Structure())
    for folder, names in unpack(batch):
        prefix = f"{folder}/" if folder else ""
        path = below(root, prefix)
        place = structure.place(folder)
        for name in names:
            is_text_beside = kind == "text" and (place is None or place[1] is None) and not pattern
            if is_text_beside or file_kind(name) != kind:
                if is_whole:
                    yield not_read(prefix + name)
                continue
            if name.lower().endswith(".npz"):  # its arrays are the files of the record
                yield Consumed(paths=(path + name,))
            try:
                if pattern:
                    yield _matched_record(prefix + name, path + name, kind, pattern, structure)
                else:
                    yield _record(prefix + name, path + name, kind, place)
            except RecordError as error:
                yield Rejected.of(prefix + name, error)


def _record(
    relative: str, path: str, kind: str, place: tuple[str | None, str | None] | None
) -> Record | Rejected:
    """Make the record of a file by its folder."""
    if place is None:
        raise RecordError(
            "no class folder",
            "it is next to the class folders; move it into the folder of its class, or leave it "
            "out with --ignore",
        )
    split, label = place
    if label == "":
        return left_out(relative, f"unused {kind}", "its folder is not named after a class")
    features = _features(path, kind, has_label=label is not None)
    if label is not None:
        features["label"] = ClassLabel(label)
    return Record(key=relative, features=features, split=split)


def _features(path: str, kind: str, *, has_label: bool) -> dict[str, Value]:
    """Features of a file: the file itself, or the arrays of an .npz file of several."""
    if path.lower().endswith(".npz"):
        with contextlib.suppress(OSError):  # reported where it is read
            if features := features_of_npz(path, has_label=has_label):
                return features
    file = FileRef(path=path)
    if kind == "text":  # read where it is needed
        return {kind: Deferred(file=file, read=decoded_text)}
    return {kind: OF_FILE[kind](file=file)}


def decoded_text(data: bytes) -> str:
    """Decode the UTF-8 text of a file.

    Raises:
        RecordError: "not UTF-8".
    """
    return storage.decoded(data, "the text")


def _matched_record(
    relative: str, path: str, kind: str, pattern: PathPattern, structure: Structure
) -> Record:
    """Make the record of a file by matching its path with the pattern."""
    if (texts := pattern.match(relative)) is None:
        raise RecordError(
            "does not match the pattern",
            f"{pattern.matched_part(relative)!r}, which is it without "
            f"{'folder and ' if pattern.by_name else ''}suffix, does not fit {pattern.text!r}",
        )
    by_name = dict(zip(pattern.names, texts, strict=True))
    split = by_name.pop("split", None)
    if not split and pattern.by_name and structure.in_splits and () not in structure.folders:
        split = relative.partition("/")[0]
    values: dict[str, Value] = {
        name: ClassLabel(class_name(text))
        if name == "label"
        else convert(name, text, structure.columns[name])
        for name, text in by_name.items()
    }
    features = _features(path, kind, has_label="label" in pattern.names)
    return Record(key=relative, features={**features, **values}, split=split)
