"""Images, sounds or arrays in folders: a class each, or with paths that say what they are."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import apache_beam as beam

from beam_pipeline.files import storage
from beam_pipeline.files.storage import StoredFile
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    FileRef,
    Image,
    Record,
    Rejected,
    Value,
)
from beam_pipeline.sources.columns.kinds import Kind, class_name, convert, kind_of_text, wider
from beam_pipeline.sources.path_pattern import PathPattern, parse_pattern
from beam_pipeline.sources.paths import folder, input_folder, is_split_name, media_kind

# Of kinds with as many files, the first is taken.
_KINDS = ("image", "audio", "array")


@dataclasses.dataclass
class ReadClassFolders(beam.PTransform):
    """Files in one folder a class: `root/<class>/…/<file>` or `root/<split>/<class>/…/<file>`.

    The dataset is of images, sounds or arrays, whatever there are most of by their
    suffixes. Yields for every file below `root`, in no order:

    - a Record {image, label} ({audio, label}, {array, label}) where the suffix is of that kind,
      whatever the content. Its class is the first folder below `root`, or below the split; its
      key is the path below `root`. Where no such file lies in a folder there are no labels.
    - Rejected "no class folder", bad, for such a file outside every class folder.
    - Rejected "not an image file" ("not an audio file", …), not bad, for every other file.

    The layout has splits where every folder of `root` that holds such files has a split's name
    (train, val, valid, validation, test, dev, also train2017, test_set, …, in any case) and some
    file lies two folders deep. The names are kept as written. Hidden files are no input.

    With a pattern no folder is a class or a split, unless the pattern says so: what it finds in
    a path are columns, int, else float, else str, whatever holds all values; "label" is a
    ClassLabel, "split" the split. A path that it does not match is Rejected, bad. Where it
    says nothing of folders, and the first folders are all splits, they are.

    Attributes:
        root: The folder, local or remote.
        path_pattern: See `path_pattern.parse_pattern`; None for class folders.

    Raises:
        ConfigError: `root` is not a folder, or the pattern cannot be used.
    """

    root: str
    path_pattern: str | None = None

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        pattern = parse_pattern(self.path_pattern) if self.path_pattern else None
        return (
            pipeline
            | "Root" >> beam.Create([input_folder(self.root)])  # str
            | "ListFiles" >> beam.FlatMap(list_folders, pattern)  # Record | Rejected
        )


def list_folders(root: str, pattern: PathPattern | None) -> Iterator[Record | Rejected]:
    """What every file below `root` is."""
    files = list(storage.list_files(root))
    kind = main_kind(file.relative for file in files)
    of_kind = [file for file in files if media_kind(file.relative) == kind]
    if pattern:
        yield from matched_records(of_kind, pattern)
    else:
        splits = has_split_folders(file.relative for file in of_kind)
        labelled = any(folder(file.relative) for file in of_kind)
        for file in of_kind:
            if labelled:
                yield labelled_record(file.path, file.relative, has_splits=splits)
            else:
                yield _record(file.path, file.relative, {}, None)
    for file in files:
        if media_kind(file.relative) != kind:
            yield other_file(file.relative, kind)


def main_kind(relatives: Iterable[str]) -> str:
    """ "image", "audio" or "array": what most of the files are."""
    counts = Counter(map(media_kind, relatives))
    return max(_KINDS, key=counts.__getitem__)


def has_split_folders(relatives: Iterable[str]) -> bool:
    """Whether the first folders of these files are splits and not classes."""
    paths = [relative.split("/") for relative in relatives]
    return any(len(parts) > 2 for parts in paths) and _are_splits(
        parts[0] for parts in paths if len(parts) > 1
    )


def _are_splits(folders: Iterable[str]) -> bool:
    return all(map(is_split_name, set(folders)))


def labelled_record(path: str, relative: str, *, has_splits: bool) -> Record | Rejected:
    """The record of one file, labelled by its folder."""
    parts = relative.split("/")
    depth = 1 if has_splits else 0
    if len(parts) < depth + 2:
        return Rejected(
            source=relative,
            reason="no class folder",
            detail="the file lies beside the class folders; move it into the one of its class",
        )
    label = ClassLabel(parts[depth])
    return _record(path, relative, {"label": label}, parts[0] if has_splits else None)


def matched_records(
    files: Iterable[StoredFile], pattern: PathPattern
) -> Iterator[Record | Rejected]:
    """The records of files by what the pattern finds in their paths."""
    matched: list[tuple[StoredFile, tuple[str, ...]]] = []
    for file in files:
        if (texts := pattern.match(file.relative)) is not None:
            matched.append((file, texts))
            continue
        yield Rejected(
            source=file.relative,
            reason="does not match the pattern",
            detail=f"{pattern.matched_part(file.relative)!r}, which is it without "
            f"{'folder and ' if pattern.by_name else ''}suffix, does not fit {pattern.text!r}",
        )
    columns = zip(*(texts for _, texts in matched), strict=True)
    kinds = {
        name: functools.reduce(wider, map(kind_of_text, set(column)), None)
        for name, column in zip(pattern.names, columns, strict=False)  # none, if none matches
    }
    by_folder = pattern.by_name and _are_splits(_first_folder(file) for file, _ in matched)
    for file, texts in matched:
        found = dict(zip(pattern.names, texts, strict=True))
        split = found.pop("split", None) or (_first_folder(file) if by_folder else None)
        values = {name: _column(name, text, kinds[name]) for name, text in found.items()}
        yield _record(file.path, file.relative, values, split)


def _first_folder(file: StoredFile) -> str:
    return file.relative.partition("/")[0] if "/" in file.relative else ""


def _column(name: str, text: str, kind: Kind | None) -> Value:
    return ClassLabel(class_name(text)) if name == "label" else convert(name, text, kind)


def _record(path: str, relative: str, columns: Mapping[str, Value], split: str | None) -> Record:
    kind, file = media_kind(relative), FileRef(path=path)
    value: Image | Audio | Array = Image(file=file)
    if kind != "image":
        value = Audio(file=file) if kind == "audio" else Array(file=file)
    return Record(key=relative, features={kind: value, **columns}, split=split)


def other_file(relative: str, kind: str) -> Rejected:
    """A file that is no image, sound or array where the others are."""
    return Rejected(
        source=relative,
        reason=f"not an {kind} file",
        detail=f"its suffix is not an {kind}'s",
        bad=False,
    )
