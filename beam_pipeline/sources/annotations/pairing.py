"""Pair annotation files with images by name.

A layout is a value, `Pairing`; the same functions pair the files of a sampled tree and of a bucket.
"""

import dataclasses
import functools
import glob
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from beam_pipeline.problems import files_to_ignore
from beam_pipeline.records import DeclaredClasses, Rejected
from beam_pipeline.running.pickling import fast_pickle
from beam_pipeline.sources.annotations.shapes import Parsed
from beam_pipeline.sources.paths import (
    folder,
    joined,
    media_kind,
    name_of,
    place_of,
    shared_name,
    split_at,
    stem,
    suffix,
    without_upload_prefix,
)
from beam_pipeline.sources.splits import lists_of_splits
from beam_pipeline.sources.tables.file_index import FileIndex
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.format.split_names import split_of_folders

# Size limit of an annotation. In memory, XML takes up to thirty times its text.
MAX_BYTES = 16 << 20
_MANY_FILES = 10_000_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TreeFacts:
    """Facts about all files of a tree, from its folders.

    Attributes:
        is_at_home: Whether only files below `home` are annotations.
        folders: Image folders with annotations.
        in_splits: Whether every annotation (or image, if images need none) is in a split's
            folder.
        has_lists: Whether lists define the splits.
        number: Estimated number of files.
    """

    is_at_home: bool = False
    folders: frozenset[str] = frozenset()
    in_splits: bool = False
    has_lists: bool = False
    number: int = _MANY_FILES


@fast_pickle
class Pair(NamedTuple):
    """An image, its annotation, and what the latter calls its image; "" for none."""

    image: str
    annotation: str
    named: str = ""


Part = tuple[str, str, str]
"""An image and its annotation, of which one may be ""; and what the latter calls its image."""


def any_name(path: str) -> bool:
    """Accept every file."""
    return True


def in_annotated_folder(image: str, known: TreeFacts) -> bool:
    """Whether other images of an image's folder have annotations."""
    return folder(image) in known.folders


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How annotation files are found, paired with images and parsed.

    Functions get paths relative to the root, with forward slashes; suffixes and folders are in
    lower case. They must be picklable: functions of a module, or partial ones.

    Attributes:
        suffix: Suffix of annotations; "" for any.
        noun: Noun for an annotation in messages: "XML file".
        parse: Parse the content and the path of an annotation into the features of its image
            except the image itself, and notes; raise RecordError if it is invalid.
        media: Kind of the annotated files, "image" or "audio"; below, "image" means either.
        home: Folder of annotations.
        image_home: Folder of images, parallel to `home`; "" for none.
        max_bytes: Size limit of an annotation; 0 if `parse` needs only its path.
        is_annotation: Whether a file with the suffix may be an annotation.
        is_media: Whether a file of the kind may have an annotation.
        shared_name: The name that an image and its annotation share, the key for their bucket.
        image_key: Key by which annotations find an image; by default its place below `image_home`.
        image_keys: Possible keys of an annotation's image, by the annotation's path and its own or
            stated name, likeliest first; by default its place below `home`.
        naming: Part of an annotation that names its image in any folder; "" for none.
        named_image: Name of the image stated in an annotation; "" for none.
        is_shared: Whether an annotation applies to all images with its name.
        takes_first: Whether the first of several annotations of an image is used, those in `home`
            first; otherwise they are an error.
        is_needed: Whether images without annotation are rejected.
        is_expected: Whether an image without annotation should have one or is part of the dataset.
        split_of_folder: The split whose folder contains a file; None for none.
        split_of_image: The split of an image in place of that of its folder, or why it has none.
        set_folders: Folders in ImageSets/ with lists of splits, likeliest first.
        unlabelled: Folder of unannotated images that test lists name.
        declared: Classes declared for all files.
    """

    suffix: str
    noun: str
    parse: Callable[[bytes, str], Parsed]
    media: str = "image"
    home: str = ""
    image_home: str = ""
    max_bytes: int = MAX_BYTES
    is_annotation: Callable[[str], bool] = any_name
    is_media: Callable[[str], bool] = any_name
    shared_name: Callable[[str], str] = shared_name
    image_key: Callable[[str], str] | None = None
    image_keys: Callable[[str, str], Iterable[str]] | None = None
    naming: str = ""
    named_image: Callable[[bytes], str] | None = None
    is_shared: bool = False
    takes_first: bool = False
    is_needed: bool = True
    is_expected: Callable[[str, TreeFacts], bool] = in_annotated_folder
    split_of_folder: Callable[[str], str | None] = split_of_folders
    split_of_image: Callable[[str], str | Rejected] | None = None
    set_folders: tuple[str, ...] = ()
    unlabelled: str = ""
    declared: tuple[DeclaredClasses, ...] = ()

    def annotates(self, path: str) -> bool:
        """Whether a file may be an annotation, judged by its name."""
        return self.suffix in ("", suffix(path)) and self.is_annotation(path)

    def has_media(self, path: str) -> bool:
        """Whether a file may have an annotation, judged by its name."""
        is_one = media_kind(path) == self.media and self.is_media(path)
        return is_one and (not self.image_home or split_at(path, self.image_home) is not None)

    def key(self, image: str) -> str:
        """Key by which annotations find an image."""
        return self.image_key(image) if self.image_key else place_of(image, self.image_home)

    def keys(self, annotation: str, name: str) -> Iterable[str]:
        """Possible keys of an annotation's image, by its own or stated name; likeliest first."""
        if self.image_keys:
            return self.image_keys(annotation, name)
        return [place_of(annotation, self.home)]

    def split(self, pair: Pair, known: TreeFacts) -> str | Rejected | None:
        """The split of an image; None if nothing states it."""
        if self.split_of_image:
            return self.split_of_image(pair.image)
        path = pair.annotation if self.is_needed else pair.image
        return self.split_of_folder(path) if known.in_splits else None


def bucket_name(name: str) -> str:
    """Return the key for the bucket of an image and its annotation, by the name they share."""
    return without_upload_prefix(name) or name


def parts_of(paths: Iterable[str], files: Pairing, *, is_at_home: bool) -> Iterator[Part]:
    """Yield the images and annotations among files, unpaired."""
    for path in paths:
        if files.annotates(path) and (not is_at_home or split_at(path, files.home)):
            yield "", path, ""
        elif files.has_media(path):
            yield path, "", ""


def _name_in_bucket(path: str) -> str:
    return bucket_name(shared_name(path))


def pair(parts: Iterable[Part], files: Pairing) -> Iterator[Part]:
    """Pair images and annotations; yield the rest unpaired.

    The name of an upload that no image has is the name without its prefix, if only one annotation
    has it.
    """
    found = [*pair_by_names(parts, files)]
    images = [image for image, annotation, _ in found if not annotation]
    by_key = _grouped(images, files.key)
    uploads = defaultdict[str, list[Part]](list)
    for part in found:
        image, annotation, named = part
        if image and annotation:
            yield part
        elif annotation:
            uploads[_image_of_upload(annotation, named, files, by_key)].append(part)
    only = {image: several[0] for image, several in uploads.items() if image and not several[1:]}
    yield from ((image, "", "") for image in images if image not in only)
    for image, several in uploads.items():
        yield from ((image if image in only else "", *part[1:]) for part in several)


def _image_of_upload(
    annotation: str, named: str, files: Pairing, by_key: Mapping[str, list[str]]
) -> str:
    """Return the only image with the name of an upload without its prefix; "" if there is none."""
    name = without_upload_prefix(name_of(named or annotation))
    keys = files.keys(joined(folder(annotation), name), name) if name else ()
    found = next(filter(None, map(by_key.get, keys)), [])
    return found[0] if len(found) == 1 else ""


def pair_by_names(parts: Iterable[Part], files: Pairing) -> Iterator[Part]:
    """Pair images and annotations by their own or stated names; yield the rest unpaired."""
    parts = sorted(parts)
    images = [image for image, annotation, _ in parts if not annotation]
    by_key = _grouped(images, files.key)
    every = (image for image, _, _ in parts if image and files.naming)
    by_name = _grouped(every, _name_in_bucket)
    index_of = functools.cache(lambda name: FileIndex(by_name.get(name, ())))
    paired = set[str]()
    for image, annotation, named in parts:
        if image and annotation:
            yield image, annotation, named
        elif annotation:
            found = _find_images(annotation, named, files, by_key, index_of)
            yield from [(each, annotation, named) for each in found] or [("", annotation, named)]
            paired.update(found)
    yield from ((image, "", "") for image in images if image not in paired)


def _grouped(paths: Iterable[str], key: Callable[[str], str]) -> Mapping[str, list[str]]:
    groups = defaultdict[str, list[str]](list)
    for path in paths:
        groups[key(path)].append(path)
    return groups


def _find_images(
    annotation: str,
    named: str,
    files: Pairing,
    by_key: Mapping[str, list[str]],
    index_of: Callable[[str], FileIndex],
) -> list[str]:
    """Images of an annotation: at one of its usual paths, else the only one of its name."""
    name = named or annotation.rpartition("/")[2]
    images = next(filter(None, map(by_key.get, files.keys(annotation, name))), [])
    if len(images) > 1 and not files.is_shared:
        return ([each for each in images if name_of(each) == name_of(name)] or images)[:1]
    if named and not images:
        only = index_of(_name_in_bucket(name)).find(joined(folder(annotation), name)) or ""
        return [only] if only in by_key.get(files.key(only), ()) else []
    return images


def judged(parts: Iterable[Part], files: Pairing, known: TreeFacts) -> Iterator[Pair | Rejected]:
    """Yield pairs of an image and its one annotation, and rejects for other files."""
    named = f", and none, or several, have the one in its {files.naming}" if files.naming else ""
    missing = f"no {files.media} has the {files.noun}'s name{named}"
    contested: dict[str, Rejected] = {}
    by_image: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for image, annotation, stated in parts:
        if image:
            by_image.setdefault(image, []).append(annotation)
            names[annotation] = stated
        else:
            yield Rejected(source=annotation, reason=f"missing {files.media}", detail=missing)
    for image, owners in by_image.items():
        if files.takes_first:
            owners = [each for each in owners if split_at(each, files.home)][:1] or owners[:1]
        if len(owners) > 1:
            leave_out = files_to_ignore(map(glob.escape, owners[1:]))
            detail = f"{len(owners)} files describe {image}; merge them, or pass {leave_out.typed}"
            for each in owners:
                contested[each] = Rejected(source=each, reason="two annotations", detail=detail)
        elif owners[0] or (not files.is_needed and files.is_expected(image, known)):
            yield Pair(image, owners[0], names[owners[0]])
        elif files.is_expected(image, known):
            detail = f"no {files.noun} describes the {files.media}"
            is_bad = not known.has_lists
            yield Rejected(source=image, reason="no annotation", detail=detail, bad=is_bad)
    yield from contested.values()


def tree_facts(tree: Tree, files: Pairing) -> tuple[TreeFacts, Sequence[str]]:
    """Return the facts of a tree and its annotations."""
    paths = tree.files()
    annotations = sorted(filter(files.annotates, paths))
    proper = [path for path in annotations if split_at(path, files.home)]
    annotations = proper or ([] if files.image_home else annotations)
    parts = pair(parts_of(paths, files, is_at_home=bool(proper)), files)
    pairs = [part for part in parts if part[0]]
    known = TreeFacts(
        is_at_home=bool(proper) or bool(files.image_home),
        folders=frozenset(folder(image) for image, annotation, _ in pairs if annotation),
        has_lists=bool(split_lists_of(tree, files)),
        number=len(paths) if tree.is_known else _MANY_FILES,
    )
    expected = annotations
    if not files.is_needed:
        expected = [
            image for image, annotation, _ in pairs if annotation or files.is_expected(image, known)
        ]
    in_splits = bool(expected) and all(map(files.split_of_folder, expected))
    return dataclasses.replace(known, in_splits=in_splits), annotations


def split_lists_of(tree: Tree, files: Pairing) -> tuple[str, ...]:
    """Split lists in a tree's ImageSets/, in the syntax of `--split-list`."""
    by_home: dict[str, dict[str, list[str]]] = {}
    for path in tree.files_with("txt"):
        if around := split_at(path, "imagesets"):
            home, task = around
            by_home.setdefault(home, {}).setdefault(task.lower(), []).append(path)
    lists = []
    folders = {name_of(each).lower() for each in tree.walked}
    is_unlabelled = bool(files.unlabelled) and files.unlabelled in folders
    for tasks in by_home.values():
        of_task = next(filter(None, map(tasks.get, files.set_folders)), [])
        paths = {stem(path): path for path in of_task}
        lists += [
            f"{split}={tree.path(paths[split])}"
            for split in lists_of_splits(paths)
            if not (is_unlabelled and split.lower().startswith("test"))
        ]
    return tuple(lists)
