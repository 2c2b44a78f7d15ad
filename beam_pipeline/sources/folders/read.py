"""Images, audio or arrays in folders: a class each, or with paths that say what they are."""

import contextlib
import dataclasses
import shlex
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import ClassLabel, Deferred, FileRef, Record, Rejected, Value
from beam_pipeline.running.gathering import Merge
from beam_pipeline.running.pickling import unpack
from beam_pipeline.sources.beside import passed_over
from beam_pipeline.sources.columns.class_values import class_name
from beam_pipeline.sources.columns.fitting import OF_FILE
from beam_pipeline.sources.columns.kinds import convert
from beam_pipeline.sources.folders.doubt import doubt, unread
from beam_pipeline.sources.folders.imagenet import read_classes
from beam_pipeline.sources.folders.npz_record import features_of_npz
from beam_pipeline.sources.folders.pattern import PathPattern, has_features, parse_pattern
from beam_pipeline.sources.folders.profile import (
    NO_CLASSES,
    Profile,
    ProfileByKind,
    file_kind,
    main_kind,
    merge_profiles,
    profile_of,
)
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.listing import ListNames
from beam_pipeline.sources.paths import below, input_folder, left_out, stem
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import counted


@dataclasses.dataclass
class ReadClassFolders(beam.PTransform):
    """Files in one folder a class: `root/<class>/…/<file>` or `root/<split>/<class>/…/<file>`.

    The dataset is of images, audio or arrays, whatever there are most of by their
    suffixes; of texts, where there are none of these. Yields for every file below `root`, in no
    order:

    - a Record {image, label} ({audio, label}, {array, label}) where the suffix is of that kind,
      whatever the content. Its class is the first folder below `root`, or below the split; its
      key is the path below `root`. Where no such file lies in a folder there are no labels.
    - Rejected "no class folder", bad, for such a file outside every class folder.
    - Rejected, not bad, for what lies in a folder that is no class (`profile.NO_CLASSES`).
    - Rejected "data not read", not bad, for every other file that may hold data, and "not an image
      file" ("not an audio file", …) for what else there is.

    The layout has splits where every folder of `root` that holds such files has a split's name
    (`splits.is_split`) and some file lies two folders deep. The names are kept as written. Hidden
    files are no input.

    With a pattern no folder is a class or a split, unless the pattern says so: what it finds in
    a path are columns, int, else float, else str, whatever holds all values; "label" is a
    ClassLabel, "split" the split. A path that it does not match is Rejected, bad. Where it
    says nothing of folders, and the first folders are all splits, they are.

    The files are listed once, and wait, packed (4 to 25 bytes a file), until the profiles of all
    have told what a folder is.

    Attributes:
        root: The folder, local or remote.
        path_pattern: See `pattern.parse_pattern`; None for class folders.
        one_class: Whether all files may be of one class.
        ignored: Files and folders that are left out.
        class_list: The table of the classes of files outside class folders
            (`imagenet.read_classes`); "" if there is none. Lines that name files that are not
            there are told of, all at once.

    Raises:
        ConfigError: `root` is not a folder, or the pattern cannot be used; or, while the pipeline
            runs, the files cannot be read as they lie (`doubt.doubt`).
    """

    root: str
    path_pattern: str | None = None
    one_class: bool = False
    ignored: Ignored = NOTHING
    class_list: str = ""

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        pattern = parse_pattern(self.path_pattern) if self.path_pattern else None
        root = input_folder(self.root)
        listed = pipeline | ListNames(root, ignored=self.ignored)  # bytes
        profiles = (
            listed
            | "LookAtFiles" >> beam.Map(look_into, pattern)  # ProfileByKind
            | "MergeLooks" >> Merge(merge_profiles)  # ProfileByKind
            | "CheckFolders" >> beam.Map(checked, root, pattern, self.one_class)  # ProfileByKind
        )
        listed_classes: Any = {}
        if self.class_list:
            table = pipeline | "ClassList" >> beam.Create([self.class_list])  # str
            listed_classes = AsSingleton(table | "ReadClassList" >> beam.Map(read_classes))
        records = listed | "MakeRecords" >> beam.FlatMap(
            records_of, root, pattern, AsSingleton(profiles), listed_classes, self.class_list
        )  # Record | Rejected
        if not self.class_list:
            return records
        absent = (
            listed
            | "FindListed" >> beam.FlatMap(names_listed, listed_classes)  # str
            | "GatherListed" >> beam.CombineGlobally(beam.combiners.ToSetCombineFn())  # set of str
            | "AbsentImages" >> beam.FlatMap(absent_images, listed_classes, self.class_list)
        )  # Rejected
        return (records, absent) | beam.Flatten()


def look_into(batch: bytes, pattern: PathPattern | None) -> ProfileByKind:
    """What the files of a batch are."""
    return profile_of(unpack(batch), pattern)


def checked(
    profiles: ProfileByKind, root: str, pattern: PathPattern | None, one_class: bool = False
) -> ProfileByKind:
    """The profiles of all files, which tell what a folder is.

    Raises:
        ConfigError: They do not, and no pattern does; or what may hold the labels is not read.
    """
    kind = main_kind(profiles)
    if pattern is None:
        problem = doubt(profiles[kind], root, kind, one_class=one_class)
    else:
        problem = "" if has_features(pattern) else unread(profiles[kind], root, kind)
    if problem:
        raise ConfigError(f"{root} cannot be read as it lies: {problem}")
    return profiles


def records_of(
    batch: bytes,
    root: str,
    pattern: PathPattern | None,
    profiles: ProfileByKind,
    listed_classes: Mapping[str, str],
    class_list: str = "",
) -> Iterator[Record | Rejected]:
    """What every file in a batch is, given the profiles of all.

    Args:
        batch: Packed names of files, by folder.
        root: What the folders are below.
        pattern: As in `ReadClassFolders`.
        profiles: Of all files.
        listed_classes: Of files outside class folders, by name.
        class_list: The file that has listed them.
    """
    kind = main_kind(profiles)
    profile = profiles[kind]
    for folder, names in unpack(batch):
        prefix = f"{folder}/" if folder else ""
        path = below(root, prefix)
        place = placed(folder, profile.class_depth)
        ignoring = "--ignore"
        are_all = place is None and not listed_classes and not profile.has_folders_in(folder)
        if folder and are_all:  # test/ of images
            ignoring += f" {shlex.quote(name_of(folder))}"
        for name in names:
            relative = prefix + name
            if path + name == class_list:
                continue
            if file_kind(name) != kind or (kind == "text" and place is None and not pattern):
                yield passed_over(relative, kind)
                continue
            listed = listed_classes.get(stem(name)) if place is None else None
            if place is not None or pattern or listed:
                has_label = bool(pattern and "label" in pattern.names) or bool(place and place[1])
                try:
                    values = _features(path + name, kind, has_label)
                except RecordError as error:
                    yield Rejected.of(relative, error)
                    continue
            if pattern:
                yield matched_record(relative, values, pattern, profile)
            elif listed:
                yield _listed_record(relative, values, listed, profile)
            elif place is None:
                yield Rejected(
                    source=relative,
                    reason="no class folder",
                    detail="the file is next to the class folders; move it into the folder of its "
                    f"class, or leave it out with {ignoring}",
                )
            elif no_class := NO_CLASSES.keys() & {*folder.split("/")}:
                reason, detail = NO_CLASSES[no_class.pop()]
                yield left_out(relative, reason, detail)
            else:
                split, labels = place
                yield Record(key=relative, features={**values, **labels}, split=split)


def names_listed(batch: bytes, listed_classes: Mapping[str, str]) -> Iterator[str]:
    """The names of the files in a batch whose class a table states."""
    names = (stem(name) for _, names in unpack(batch) for name in names)
    return filter(listed_classes.__contains__, names)


def absent_images(
    there: Collection[str], listed_classes: Mapping[str, str], class_list: str
) -> Iterator[Rejected]:
    """What is said of the lines of the table of classes whose images are not there."""
    if missing := sorted(listed_classes.keys() - there):
        yield left_out(
            name_of(class_list),
            "missing file",
            f"{counted(len(missing), 'line')} name no image that is there, such as {missing[0]}",
        )


def _listed_record(
    relative: str, of_file: Mapping[str, Value], label: str, profile: Profile
) -> Record | Rejected:
    """The record of a file outside class folders, whose class a table states."""
    if label not in profile.classes:
        return Rejected(
            source=relative,
            reason="unknown class",
            detail=f"the table of classes says {label!r}, of which there is no class folder",
        )
    split = relative.partition("/")[0]
    return Record(key=relative, features={**of_file, "label": ClassLabel(label)}, split=split)


def _features(path: str, kind: str, has_label: bool) -> dict[str, Value]:
    """What a file holds, by feature: itself, or the arrays of an .npz file of several."""
    if path.lower().endswith(".npz"):
        with contextlib.suppress(OSError):  # whoever reads it is told
            if features := features_of_npz(path, has_label=has_label):
                return features
    file = FileRef(path=path)
    if kind == "text":  # read where it is needed
        return {kind: Deferred(file=file, read=decoded_text)}
    return {kind: OF_FILE[kind](file=file)}


def decoded_text(data: bytes) -> str:
    """The text of a file in UTF-8.

    Raises:
        RecordError: "not UTF-8".
    """
    return storage.decoded(data, "the text")


def placed(folder: str, class_depth: int | None) -> tuple[str | None, dict[str, Value]] | None:
    """The split and the label of the files in `folder`; None where it is above class folders.

    Args:
        folder: Below the root.
        class_depth: Which folder of the path is the class, from 0, below that of a split; None
            where there are no classes.
    """
    if class_depth is None:
        return None, {}
    parts = folder.split("/") if folder else []
    if len(parts) <= class_depth:
        return None
    return (parts[0] if class_depth else None), {"label": ClassLabel(parts[class_depth])}


def matched_record(
    relative: str, of_file: Mapping[str, Value], pattern: PathPattern, profile: Profile
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
    if not split and pattern.by_name and profile.only_in_splits:
        split = relative.partition("/")[0]
    values: dict[str, Value] = {
        name: ClassLabel(class_name(text))
        if name == "label"
        else convert(name, text, profile.columns[name])
        for name, text in by_name.items()
    }
    return Record(key=relative, features={**of_file, **values}, split=split)
