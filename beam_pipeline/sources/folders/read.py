"""Images, audio or arrays in folders: a class each, or with paths that say what they are."""

import dataclasses
import os
from collections.abc import Iterator, Mapping

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.files import storage
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
from beam_pipeline.sources.columns.kinds import class_name, convert
from beam_pipeline.sources.folders.pattern import PathPattern, parse_pattern
from beam_pipeline.sources.folders.profile import (
    Profile,
    ProfileByKind,
    main_kind,
    merge_profiles,
    profile_of,
)
from beam_pipeline.sources.paths import below, input_folder, media_kind

Part = tuple[bytes, bool]
_VALUE_OF_KIND: Mapping[str, type[Image | Audio | Array]] = {
    "image": Image,
    "audio": Audio,
    "array": Array,
}


@dataclasses.dataclass
class ReadClassFolders(beam.PTransform):
    """Files in one folder a class: `root/<class>/…/<file>` or `root/<split>/<class>/…/<file>`.

    The dataset is of images, audio or arrays, whatever there are most of by their
    suffixes. Yields for every file below `root`, in no order:

    - a Record {image, label} ({audio, label}, {array, label}) where the suffix is of that kind,
      whatever the content. Its class is the first folder below `root`, or below the split; its
      key is the path below `root`. Where no such file lies in a folder there are no labels.
    - Rejected "no class folder", bad, for such a file outside every class folder.
    - Rejected "not an image file" ("not an audio file", …), not bad, for every other file.

    The layout has splits where every folder of `root` that holds such files has a split's name
    (`splits.is_split`) and some file lies two folders deep. The names are kept as written. Hidden
    files are no input.

    With a pattern no folder is a class or a split, unless the pattern says so: what it finds in
    a path are columns, int, else float, else str, whatever holds all values; "label" is a
    ClassLabel, "split" the split. A path that it does not match is Rejected, bad. Where it
    says nothing of folders, and the first folders are all splits, they are.

    The files are listed twice, for what a folder is depends on all of them, and they are too many
    to be held: 1,000,000 local files take 2 s to list.

    Attributes:
        root: The folder, local or remote.
        path_pattern: See `pattern.parse_pattern`; None for class folders.

    Raises:
        ConfigError: `root` is not a folder, or the pattern cannot be used.
    """

    root: str
    path_pattern: str | None = None

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        pattern = parse_pattern(self.path_pattern) if self.path_pattern else None
        root = input_folder(self.root)
        parts = (
            pipeline
            | "Root" >> beam.Create([root])  # str
            | "ListParts" >> beam.FlatMap(parts_of)  # Part
            | "BalanceParts" >> beam.Reshuffle()  # Part
        )
        profiles = (
            parts
            | "LookAtFiles" >> beam.Map(look_into, root, pattern)  # ProfileByKind
            | "MergeLooks" >> beam.CombineGlobally(merge_profiles)  # ProfileByKind
        )
        return parts | "ListFiles" >> beam.FlatMap(
            records_of, root, pattern, AsSingleton(profiles)
        )  # Record | Rejected


def parts_of(root: str) -> list[Part]:
    """The parts of `root` that workers can list at once, as (folder, whether with those in it).

    A local folder is one part, for only so links that lead back up are known. As bytes, for
    Beam's strings hold no name that is not UTF-8.
    """
    if not storage.is_remote(root):
        return [(b"", True)]
    folders = storage.list_folder(root).folders
    return [(b"", False), *((os.fsencode(name), True) for name in folders)]


def files_in(part: Part, root: str) -> Iterator[str]:
    """The paths below `root` of the files in one of its parts."""
    folder, with_inner = os.fsdecode(part[0]), part[1]
    if not with_inner:
        return iter(storage.list_folder(root).files)
    prefix = f"{folder}/" if folder else ""
    return (prefix + file.relative for file in storage.list_files(below(root, folder)))


def look_into(part: Part, root: str, pattern: PathPattern | None) -> ProfileByKind:
    """What a part of `root` holds."""
    return profile_of(files_in(part, root), pattern)


def records_of(
    part: Part, root: str, pattern: PathPattern | None, profiles: ProfileByKind
) -> Iterator[Record | Rejected]:
    """What every file in a part of `root` is, given the profiles of all."""
    kind = main_kind(profiles)
    class_depth = profiles[kind].class_depth
    prefix = below(root, "")
    for relative in files_in(part, root):
        path = prefix + relative
        if media_kind(relative) != kind:
            yield other_file(relative, kind)
        elif pattern:
            yield matched_record(path, relative, pattern, profiles[kind])
        else:
            yield labelled_record(path, relative, class_depth)


def labelled_record(path: str, relative: str, class_depth: int | None) -> Record | Rejected:
    """The record of one file, labelled by the folder at `class_depth`, below that of a split."""
    if class_depth is None:
        return _record(path, relative, {}, None)
    parts = relative.split("/")
    if len(parts) < class_depth + 2:
        return Rejected(
            source=relative,
            reason="no class folder",
            detail="the file is next to the class folders; move it into the folder of its class",
        )
    label = ClassLabel(parts[class_depth])
    return _record(path, relative, {"label": label}, parts[0] if class_depth else None)


def matched_record(
    path: str, relative: str, pattern: PathPattern, profiles: Profile
) -> Record | Rejected:
    """The record of one file by what the pattern finds in its path."""
    if (texts := pattern.match(relative)) is None:
        return Rejected(
            source=relative,
            reason="does not match the pattern",
            detail=f"{pattern.matched_part(relative)!r}, which is it without "
            f"{'folder and ' if pattern.by_name else ''}suffix, does not fit {pattern.text!r}",
        )
    by_name = dict(zip(pattern.names, texts, strict=True))
    split = by_name.pop("split", None)
    if not split and pattern.by_name and profiles.only_in_splits:
        split = relative.partition("/")[0]
    values: dict[str, Value] = {
        name: ClassLabel(class_name(text))
        if name == "label"
        else convert(name, text, profiles.columns[name])
        for name, text in by_name.items()
    }
    return _record(path, relative, values, split)


def _record(path: str, relative: str, columns: Mapping[str, Value], split: str | None) -> Record:
    kind = media_kind(relative)
    value = _VALUE_OF_KIND[kind](file=FileRef(path=path))
    return Record(key=relative, features={kind: value, **columns}, split=split)


def other_file(relative: str, kind: str) -> Rejected:
    """A file that is no image, audio or array where the others are."""
    return Rejected(
        source=relative,
        reason=f"not an {kind} file",
        detail=f"its suffix is not an {kind}'s",
        bad=False,
    )
