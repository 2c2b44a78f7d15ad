"""Which files belong together: an image, its annotation, and the lines of lists that name one.

Files and lines of one name are looked at together, in any number of buckets of names. Where an
annotation may name an image, they meet a second time by the images' names.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import DeclaredClasses, FileRef, Rejected
from beam_pipeline.running.pickling import crosses, pack
from beam_pipeline.sources.beside import unused
from beam_pipeline.sources.listing import Names
from beam_pipeline.sources.paths import below, folder, shared_name, split_at, suffix
from beam_pipeline.sources.side_files.files import Folders, Line, Match, SideFiles, Survey
from tfrecord_dataset.store.at_once import at_once

_READ_THREADS = 16
_NONE = frozenset[str]()
# So many annotations tell what all are like.
_NUM_FIRST = 50


@crosses
class Annotated(NamedTuple):
    """An annotation, and what tells its images.

    Attributes:
        path: Of the annotation.
        images: Those of its own name.
        named: Where there are none, what it calls its image.
        splits: Those that are stated of it.
    """

    path: str
    images: tuple[str, ...]
    named: str
    splits: frozenset[str]


@crosses
class Pictured(NamedTuple):
    """An image.

    Attributes:
        path: Of the image.
        splits: Those that are stated of it.
        is_told: Whether a line of a list was rejected already, as it has no annotation.
    """

    path: str
    splits: frozenset[str]
    is_told: bool


Known = Annotated | Pictured | Rejected | DeclaredClasses

Paired = tuple[bytes, Folders]
"""What some files are, packed: Match and others; and their folders, by which these are judged."""


def look(parts: Iterable[Names], files: SideFiles) -> Survey:
    """The survey of some files, not yet completed."""
    number = 0
    folders: set[str] = set()
    lists: set[str] = set()
    for home, names in parts:
        number += len(names)
        prefix = f"{home}/" if home else ""
        if files.has_sets and split_at(prefix, "imagesets"):
            lists.update(prefix + name for name in names if suffix(name) == "txt")
        elif any(files.annotates(prefix + name) for name in names):
            folders.add(home)
    return Survey(number=number, folders=frozenset(folders), lists=frozenset(lists))


def merge_surveys(surveys: Iterable[Survey]) -> Survey:
    """The survey of all files from those of some."""
    surveys = list(surveys)
    return Survey(
        number=sum(each.number for each in surveys),
        folders=frozenset().union(*(each.folders for each in surveys)),
        lists=frozenset().union(*(each.lists for each in surveys)),
    )


def known_of(
    values: Iterable[str | Line | Rejected | DeclaredClasses],
    files: SideFiles,
    survey: Survey,
    root: str,
) -> Iterator[Known]:
    """What is known of all files of some names, and of the lines with these."""
    paths: dict[str, list[str]] = {"image": [], "annotation": [], "list": [], "": []}
    lines = []
    for value in values:
        if isinstance(value, str):
            paths[files.role(value, survey)].append(value)
        elif isinstance(value, Line):
            lines.append(value)
        else:
            yield value
    images = sorted(paths["image"])
    listed = images if files.lists_images else sorted(paths["annotation"])
    splits, unfound = _splits_of(listed, sorted(lines), files, survey)
    yield from map(files.unfound, unfound.values())
    for path in images:
        is_told = bool(unfound) and any(
            name in unfound for name in files.names_in_lists(path, survey)
        )
        yield Pictured(path, splits.get(path, _NONE), is_told)
    by_key = _by_key(images, files)
    found = {
        path: _images_at(path, path.rpartition("/")[2], by_key, files)
        for path in paths["annotation"]
    }
    alone = [path for path, images in found.items() if not images and files.naming]
    named = read_names(root, alone, files)
    for path, of_name in found.items():
        name = named.get(path, "")
        if isinstance(name, Rejected):
            yield name
        else:
            yield Annotated(path, of_name, name, splits.get(path, _NONE))
    yield from (unused(path, files.media) for path in paths[""])


def image_name(known: Known) -> str:
    """The name of the image that something is, or is said of."""
    if isinstance(known, Pictured):
        return shared_name(known.path)
    if isinstance(known, Annotated):
        return shared_name(known.images[0] if known.images else known.named)
    return ""


def _splits_of(
    paths: Iterable[str], lines: Sequence[Line], files: SideFiles, survey: Survey
) -> tuple[Mapping[str, frozenset[str]], Mapping[str, Line]]:
    """The splits that are stated of these files, and the lines that mean no file."""
    by_name = defaultdict(list)
    splits: dict[str, set[str]] = {}
    for path in paths:
        if of_folder := files.splits_of_folder(path):
            splits[path] = set(of_folder)
        for name in files.names_in_lists(path, survey) if lines else ():
            by_name[name].append(path)
    unfound: dict[str, Line] = {}
    for line in lines:
        names = files.names_of_line(line, survey)
        found = next(filter(None, map(by_name.get, names)), [])
        for path in found[-1:] if files.lists_images else found:  # twins by Unicode's forms
            splits.setdefault(path, set()).add(line.split)
        if not found:
            unfound.setdefault(names[-1], line)
    return {path: frozenset(stated) for path, stated in splits.items()}, unfound


def _by_key(images: Iterable[str], files: SideFiles) -> dict[str, list[str]]:
    by_key = defaultdict(list)
    for image in images:
        by_key[files.image_key(image)].append(image)
    return by_key


def _images_at(
    annotation: str, name: str, by_key: Mapping[str, list[str]], files: SideFiles
) -> tuple[str, ...]:
    """The images at the first place of an annotation's where one has the name, or at least stem."""
    found = next(filter(None, map(by_key.get, files.image_keys(annotation, name))), [])
    if len(found) > 1 and not files.is_shared:
        file_name = name.rpartition("/")[2]
        exact = [image for image in found if image.rpartition("/")[2] == file_name]
        found = (exact or found)[:1]
    return tuple(found)


def read_annotation(root: str, path: str, files: SideFiles) -> bytes:
    """The bytes of an annotation.

    Raises:
        RecordError: As `storage.read_bytes`.
    """
    return storage.read_bytes(FileRef(path=below(root, path)), files.max_bytes)


def read_names(
    root: str, annotations: Sequence[str], files: SideFiles
) -> dict[str, str | Rejected]:
    """What each annotation calls its image, or why it cannot be read."""

    def read(path: str) -> str | Rejected:
        try:
            return files.named_image(read_annotation(root, path, files))
        except RecordError as error:
            return Rejected.of(path, error)

    return dict(zip(annotations, at_once(read, annotations, _READ_THREADS), strict=True))


def pair(known: Iterable[Known], files: SideFiles) -> Paired:
    """What files are: all images of some names, and all annotations of these."""
    by_type: dict[type, list[Any]] = defaultdict(list)
    for each in known:
        by_type[type(each)].append(each)
    annotations: list[Annotated] = sorted(by_type[Annotated])
    images: list[Pictured] = sorted(by_type[Pictured])
    named_others = any(each.named for each in annotations)
    by_key = _by_key((image.path for image in images), files) if named_others else {}
    own: dict[str, list[str]] = defaultdict(list)
    named: dict[str, list[str]] = defaultdict(list)
    wanted: dict[str, Sequence[str]] = {}
    for each in annotations:
        claims = own if each.images else named
        of_name = _images_at(each.path, each.named, by_key, files) if each.named else ()
        wanted[each.path] = each.images or of_name
        for image in wanted[each.path]:
            claims[image].append(each.path)
    stated = {image.path: image.splits for image in images} if files.lists_images else {}
    matches = [*by_type[Rejected], *by_type[DeclaredClasses]]
    for each in annotations:
        matches += _matches(each, wanted[each.path], own, named, stated, files)
    matches += (
        Match(image.path, "", image.splits)
        for image in images
        if not (image.path in own or image.path in named or image.is_told)
    )
    return pack(matches), _folders(images, wanted)


def _folders(images: Iterable[Pictured], wanted: Mapping[str, Sequence[str]]) -> Folders:
    """The folders of images, and of annotations with the images that they claim."""
    return Folders(
        images=frozenset(folder(image.path) for image in images),
        annotations=frozenset(map(folder, wanted)),
        paired=frozenset(
            (folder(image), folder(path)) for path, found in wanted.items() for image in found
        ),
        first=_first(path for path, found in wanted.items() if found),
    )


def _matches(
    annotated: Annotated,
    images: Sequence[str],
    own: Mapping[str, Sequence[str]],
    named: Mapping[str, Sequence[str]],
    stated: Mapping[str, frozenset[str]],
    files: SideFiles,
) -> Iterator[Match | Rejected]:
    """What an annotation and the images that it claims are; `own` comes before what is `named`."""
    path = annotated.path
    if not images:
        yield Match("", path, annotated.splits)
        return
    claims = own if annotated.images else named
    is_used = False
    for image in images:
        owners = files.owners(claims[image])
        if path not in owners:
            continue
        is_used, detail = True, ""
        if not annotated.images and image in own:
            detail = f"its {files.naming} names {image}, which has {own[image][0]}"
        elif len(owners) > 1:
            detail = f"{len(owners)} files describe {image}; merge them, or --ignore all but one"
        problem = Rejected(source=path, reason="two annotations", detail=detail)
        splits = stated.get(image, annotated.splits)
        yield Match(image, path, splits, problem if detail else None)
    if not is_used:
        yield unused(path, files.media)


def _first(annotations: Iterable[str]) -> tuple[str, ...]:
    return tuple(heapq.nsmallest(_NUM_FIRST, annotations))


def merge_folders(parts: Iterable[Folders]) -> Folders:
    """The folders of all files from those of some."""
    parts = list(parts)
    return Folders(
        images=frozenset().union(*(each.images for each in parts)),
        annotations=frozenset().union(*(each.annotations for each in parts)),
        paired=frozenset().union(*(each.paired for each in parts)),
        first=_first(path for each in parts for path in each.first),
    )
