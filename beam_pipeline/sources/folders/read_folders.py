"""The layout `folders`: images, audio, arrays or texts in class folders, or in one folder."""

import contextlib
import dataclasses
import functools
import io
from collections.abc import Iterator, Sequence

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.wording import first_names
from beam_pipeline.media.numpy_files import array_files, array_header, texts_or_numbers
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.records import (
    Array,
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
from beam_pipeline.sources.folders.classes_in_names import classes_in_names, proposed
from beam_pipeline.sources.folders.pattern import PathPattern, parse_pattern
from beam_pipeline.sources.folders.readings import Folders, question
from beam_pipeline.sources.folders.structure import (
    NOUNS,
    FolderRoles,
    Structure,
    StructureByKind,
    file_kind,
    is_no_class,
    main_structure,
    merged,
    outside_classes,
    structures,
)
from beam_pipeline.sources.layout import Claim, Rank, source_layout
from beam_pipeline.sources.listing import ListNames
from beam_pipeline.sources.paths import below, input_folder, joined, stem, suffix
from beam_pipeline.sources.rejects import left_out
from beam_pipeline.sources.tables.fit import OF_FILE
from beam_pipeline.sources.tables.types import class_name, convert
from beam_pipeline.sources.tables.usual_columns import LABELS
from beam_pipeline.sources.tree import NOTHING, Ignored, Tree, head
from beam_pipeline.sources.unread import not_read
from tfrecord_dataset.delimited import bare_lines
from tfrecord_dataset.format.split_names import split_in_name
from tfrecord_dataset.shown_text import counted

_FILES_LOOKED_INTO = 4
_HEADER_BYTES = 1 << 10
_MAX_VALUE_BYTES = 1 << 16


def may_be_records(paths: Sequence[str]) -> bool:
    """Whether there are several .npz files that may be records, such as an image with its map.

    The first files must have several arrays with equal first two axes.
    """
    return len(paths) > 1 and all(map(_is_alike, paths[:_FILES_LOOKED_INTO]))


def _is_alike(path: str) -> bool:
    try:
        files = map(storage.resolved, array_files(path).values())
        heads = [storage.read_start(file, _HEADER_BYTES) for file in files]
        shapes = [array_header(io.BytesIO(data)).shape[:2] for data in heads]
    except RecordError:
        return False
    return len(shapes) > 1 and len(set(shapes)) == 1 and len(shapes[0]) == 2


def features_of_npz(path: str, *, has_label: bool) -> dict[str, Value] | None:
    """Read the arrays of an .npz file by name; None if there are fewer than two.

    An array without axes is a number or text. One with a usual name ("label", "y", …) is the class
    `label`, or "npz.label" if the record already has a label.

    Raises:
        RecordError: An array has an invalid header.
    """
    files: dict[str, str] = {}
    with contextlib.suppress(RecordError):  # the reader of arrays reports it
        files = array_files(path)
    if len(files) < 2:
        return None
    features: dict[str, Value] = {}
    for feature, file in sorted(files.items(), key=lambda item: item[1]):
        value = _value_of_array(storage.resolved(file), feature)
        is_label = isinstance(value, ClassLabel)
        if is_label and not has_label and "label" not in features:
            feature = "label"
        elif feature == "label":
            feature = "npz.label"
        features[feature] = value
    return features


def _value_of_array(path: str, name: str) -> Value:
    data = storage.read_start(path, _HEADER_BYTES)
    header = array_header(io.BytesIO(data))
    if header.shape or header.dtype.kind not in "biufU":
        return Array(file=FileRef(path=path))
    if not header.num_bytes:
        return ""
    part = FileRef(path=path, offset=header.offset, length=header.num_bytes)
    stored = storage.read_bytes(part, _MAX_VALUE_BYTES)
    value = texts_or_numbers(stored, header.dtype)[0].item()
    is_class = name.lower() in LABELS.of_rows and header.dtype.kind in "biuU"
    return ClassLabel(class_name(value)) if is_class else value


_PLACES_OF_LISTS = ("", "meta")
_LINES_LOOKED_AT = 10


@dataclasses.dataclass
class ReadClassFolders(beam.PTransform):
    """Files in one folder per class: `root/<class>/…/<file>` or `root/<split>/<class>/…/<file>`.

    The dataset consists of the most frequent kind by suffix of images, audio or arrays, or of
    texts if there are none of these. Yields for the files of that kind below `root`:

    - a Record {image, label} ({audio, label}, …) whose key is the path; the content is not checked.
      If no file is in a class folder, there are no labels.
    - Rejected "no class folder", bad, for a file outside all class folders.
    - Rejected "unused image" (…), not bad, in a folder named after a kind of file: masks/.

    The first folders are splits if all of them have a split's name; the next folder is the class.
    Names of splits are kept as written. Hidden files are not read.

    With a pattern, only its names are class, split and columns (int, else float, else str). A path
    that does not match is Rejected, bad. If the pattern has no folders, and the first folders are
    all named after splits, they are the splits.

    Attributes:
        root: The folder, local or remote.
        path_pattern: Pattern for `pattern.parse_pattern`; None for class folders.
        one_class: Whether all files may be of one class.
        ignored: Files and folders to leave out.
        is_whole: Whether `root` is the whole input: then other files are rejected here, which saves
            a second listing.

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
        roles = (
            listed
            | "LookAtFiles" >> beam.Map(lambda batch: structures(unpack(batch), pattern))
            | "MergeLooks" >> Merge(merged)  # StructureByKind
            | "FindRoles" >> beam.Map(self._roles, root)  # FolderRoles
        )
        return listed | "MakeRecords" >> beam.FlatMap(
            records_of, root, pattern, AsSingleton(roles), is_whole=self.is_whole
        )  # Record | Rejected

    def _roles(self, by_kind: StructureByKind, root: str) -> FolderRoles:
        """Return the roles of all folders; raise ProblemError if they do not state the classes."""
        structure = main_structure(by_kind)
        if not self.path_pattern:
            folders = Folders(structure=structure, base=self.ignored.base)
            if problem := question(folders, root, one_class=self.one_class):
                raise ProblemError(problem)
        return structure.roles()


def records_of(
    batch: bytes,
    root: str,
    pattern: PathPattern | None,
    roles: FolderRoles,
    *,
    is_whole: bool = False,
) -> Iterator[Element]:
    """Make the records of a packed batch of names, given the roles of all folders."""
    kind = roles.kind
    for folder, names in unpack(batch):
        prefix = f"{folder}/" if folder else ""
        path = below(root, prefix)
        place = roles.place(folder.split("/") if folder else ())
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
                    yield _matched_record(prefix + name, path + name, kind, pattern, roles)
                else:
                    yield _record(prefix + name, path + name, kind, place)
            except RecordError as error:
                yield Rejected.of(prefix + name, error)


def _record(
    relative: str, path: str, kind: str, place: tuple[str | None, str | None] | None
) -> Record | Rejected:
    if place is None:
        raise outside_classes(relative)
    split, label = place
    if label == "":
        return left_out(relative, f"unused {kind}", "its folder is not named after a class")
    features = _features(path, kind, has_label=label is not None)
    if label is not None:
        features["label"] = ClassLabel(label)
    return Record(key=relative, features=features, split=split)


def _features(path: str, kind: str, *, has_label: bool) -> dict[str, Value]:
    """Return the features of a file: the file, or the arrays of an .npz file with several."""
    if path.lower().endswith(".npz"):
        with contextlib.suppress(OSError):  # reported when the file is read
            if features := features_of_npz(path, has_label=has_label):
                return features
    file = FileRef(path=path)
    if kind == "text":  # read when needed
        read = functools.partial(storage.decoded, path="the text")
        return {kind: Deferred(file=file, read=read)}
    return {kind: OF_FILE[kind](file=file)}


def _matched_record(
    relative: str, path: str, kind: str, pattern: PathPattern, roles: FolderRoles
) -> Record:
    if (texts := pattern.match(relative)) is None:
        raise RecordError(
            "does not match the pattern",
            f"{pattern.matched_part(relative)!r}, which is it without "
            f"{'folder and ' if pattern.by_name else ''}suffix, does not fit {pattern.text!r}",
        )
    by_name = {name: text for name, text in zip(pattern.names, texts, strict=True) if text}
    split = by_name.pop("split", None)
    if not split and pattern.by_name and roles.splits and not roles.has_loose_files:
        split = relative.partition("/")[0]
    values: dict[str, Value] = {
        name: ClassLabel(class_name(text))
        if name == "label"
        else convert(name, text, roles.columns[name])
        for name, text in by_name.items()
    }
    features = _features(path, kind, has_label="label" in values)
    return Record(key=relative, features={**features, **values}, split=split)


def claim_folders(tree: Tree, config: BuildConfig) -> Claim | None:
    """Claim images, audio, arrays or texts in class folders, or images and audio in one folder.

    If all are in one folder named after their kind, such as images/, claim that folder.
    """
    if not tree.is_folder:
        return None
    if config.path_pattern:
        what = (("files", f"files named {config.path_pattern}"),)
        return Claim(layout="folders", rank=Rank.FOLDERS, path=tree.root, understood=what)
    home = _home(tree)
    inner = Tree(tree.path(home), tree.ignored.inside(home)) if home else tree
    structure = main_structure(structures(inner.names()))
    if not structure.number:
        return None
    roles = structure.roles()
    if roles.class_depth is None and config.layout != "folders":
        is_class = tree.is_inner and not roles.splits  # a class folder, seen from above
        if is_class or _is_of_many(inner, structure.kind):
            return None
    lists = {} if roles.splits else split_lists(tree, home)
    folders = Folders(
        structure=structure,
        base=inner.ignored.base,
        at_least=inner.at_least,
        only_folder=lambda ignored: _only_folder(inner, ignored),
    )
    problem = None
    if inner.has_all_folders:  # else the whole listing decides (`ReadClassFolders`)
        problem = question(folders, inner.root, one_class=config.one_class)
    if roles.class_depth is None and not lists:
        facts = {"path": inner.root, "at_least": inner.at_least}
        problem = classes_in_names(_files(inner, structure.kind), structure.kind, facts)
    # Class folders are as good a claim as files of many records, so the user decides.
    is_one = problem is not None and problem.code == "one class"
    is_sure = bool(structure.classes()) and (not problem or bool(problem.readings)) and not is_one
    return Claim(
        layout="folders",
        rank=Rank.CONTAINER if is_sure else Rank.FOLDERS,
        path=inner.root,
        understood=tuple(_understood(tree, inner, structure, lists, problem)),
        options={"split_list": tuple(f"{lists[each]}={tree.path(each)}" for each in lists)}
        if lists
        else {},
        problem=problem,
    )


def _files(tree: Tree, kind: str) -> Sequence[str]:
    """Return the paths of the files of a kind."""
    names = ((folder, name) for folder, some in tree.names() for name in some)
    return [joined(folder, name) for folder, name in names if file_kind(name) == kind]


def _only_folder(tree: Tree, ignored: Sequence[str]) -> str:
    """Return the path of the folder that holds all others if patterns are ignored, or ""."""
    patterns = (*tree.ignored.patterns, *ignored)
    tree = Tree(tree.root, dataclasses.replace(tree.ignored, patterns=patterns))
    path = ""
    while name := tree.only_folder:
        tree, path = tree.inside(name), joined(path, name)
    return path


def _home(tree: Tree) -> str:
    """Return the only folder with files of the main kind if named after that kind, else ""."""
    places = main_structure(structures(tree.names())).folders
    names = {place[0] if place else "" for place in places}
    name = names.pop() if len(names) == 1 else ""
    return name if is_no_class(name) else ""


def _is_of_many(tree: Tree, kind: str) -> bool:
    """Whether files outside class folders have many records each, as arrays and texts do."""
    is_record = kind == "array" and may_be_records([*map(tree.path, tree.files_with("npz"))])
    return kind in ("array", "text") and not is_record


def _understood(
    tree: Tree,
    inner: Tree,
    structure: Structure,
    lists: dict[str, str],
    problem: Problem | None,
) -> Iterator[tuple[str, str]]:
    number = f"{tree.at_least}{counted(structure.number, NOUNS[structure.kind])}"
    roles = structure.roles()
    if roles.class_depth is None:
        yield "files", f"{number} without class folders, so without labels"
        if not (problem or lists) and (text := proposed(_files(inner, structure.kind))):
            yield "names", text
    else:
        names = structure.classes()
        if not roles.splits and not inner.has_all_folders:
            folders = (name for name in inner.look().folders if not is_no_class(name))
            names = {class_name(name) for name in folders}
        if not problem:
            yield "classes", f"{counted(len(names), 'class folder')} ({first_names(sorted(names))})"
        yield "files", number
    if roles.splits or lists:
        yield "splits", ", ".join(sorted(lists.values()) or roles.splits)


def split_lists(tree: Tree, home: str) -> dict[str, str]:
    """Find lists at the top or in meta/ that name files in the class folders below `home`."""
    classes = frozenset(tree.look(home).folders)
    found = {
        path: split
        for place in _PLACES_OF_LISTS
        for name in tree.look(place).files
        if suffix(name) == "txt" and (split := split_in_name(stem(name)))
        if _names_files(tree.path(path := joined(place, name)), classes)
    }
    return found if len(set(found.values())) == len(found) else {}


def _names_files(path: str, classes: frozenset[str]) -> bool:
    lines = bare_lines(head(path).decode(errors="replace"))[:_LINES_LOOKED_AT]
    folders = [line.strip().removeprefix("./").split("/")[:-1] for line in lines if line.strip()]
    return bool(folders) and not any(map(classes.isdisjoint, folders))


_SIGN = "images, audio, arrays or texts in one folder per class, or images or audio in one folder"
LAYOUT = source_layout("folders", _SIGN, ReadClassFolders, claim_folders)
