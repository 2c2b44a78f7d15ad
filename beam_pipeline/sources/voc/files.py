"""Which files of a Pascal VOC tree belong together: annotation, image, split.

All paths are relative to the input, with forward slashes. Letter case of folders does not matter.
"""

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef, Rejected, composed
from beam_pipeline.sources.paths import (
    below,
    folder,
    has_image_suffix,
    in_batches,
    split_at,
    stem,
    suffix,
    unused,
)
from beam_pipeline.sources.splits import split_of_folders
from beam_pipeline.sources.voc.annotation import MAX_BYTES, named_image
from beam_pipeline.sources.voc.sets import ImageSets, read_image_sets

_IMAGE_FOLDERS = ("jpegimages", "images", "data")  # the last is ILSVRC's
_READ_THREADS = 16


@dataclasses.dataclass(frozen=True, slots=True)
class VocPair:
    """An annotation file, the image that it describes, and the split that they are in."""

    annotation: str
    image: str
    split: str | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VocTree:
    """The files of a tree by what they are for, each list sorted.

    Attributes:
        annotations: The XML files; only those below an Annotations/ where there is one.
        image_sets: The text files below an ImageSets/.
        images: Files with an image's suffix.
        unused: All other files, those below an ImageSets/ excepted.
    """

    annotations: list[str]
    image_sets: list[str]
    images: list[str]
    unused: list[str]


def list_voc(root: str) -> Iterator[list[VocPair | Rejected]]:
    """What every file below `root` is, in batches."""
    tree = sort_files(file.relative for file in storage.list_files(root))
    lists, rejected = {}, []
    for path in tree.image_sets:
        try:
            lists[path] = storage.read_text(below(root, path))
        except RecordError as error:
            rejected.append(Rejected(source=path, reason=error.reason, detail=error.detail))
    images = match_images(tree)
    if unmatched := [path for path in tree.annotations if path not in images]:
        names, malformed = _read_names(root, unmatched)
        images |= match_named_images(tree, names)
        rejected += malformed
    skip = {item.source for item in rejected}
    yield from in_batches([*rejected, *pair_files(tree, images, lists, skip)])


def _read_names(root: str, annotations: list[str]) -> tuple[dict[str, str], list[Rejected]]:
    def read(path: str) -> str | Rejected:
        try:
            return named_image(storage.read_bytes(FileRef(path=below(root, path)), MAX_BYTES))
        except RecordError as error:
            return Rejected(source=path, reason=error.reason, detail=error.detail)

    with ThreadPoolExecutor(_READ_THREADS) as pool:
        results = list(pool.map(read, annotations))
    names = {
        path: name for path, name in zip(annotations, results, strict=True) if isinstance(name, str)
    }
    return names, [result for result in results if isinstance(result, Rejected)]


def sort_files(relatives: Iterable[str]) -> VocTree:
    """Each file where it belongs."""
    kinds: dict[str, list[str]] = {"xml": [], "set": [], "image": [], "other": []}
    for relative in sorted(relatives):
        if split_at(relative, "imagesets"):
            if suffix(relative) == "txt":
                kinds["set"].append(relative)
        elif suffix(relative) == "xml":
            kinds["xml"].append(relative)
        else:
            kinds["image" if has_image_suffix(relative) else "other"].append(relative)
    annotations = [path for path in kinds["xml"] if split_at(path, "annotations")]
    annotations = annotations or kinds["xml"]
    chosen = set(annotations)
    return VocTree(
        annotations=annotations,
        image_sets=kinds["set"],
        images=kinds["image"],
        unused=kinds["other"] + [path for path in kinds["xml"] if path not in chosen],
    )


def image_folders(annotation_folder: str) -> list[str]:
    """The folders, in lower case, where images of the annotations in a folder may lie."""
    own = annotation_folder.lower()
    if split := split_at(f"{own}/", "annotations"):
        home, inner = split
        places = [_join(home, name, inner) for name in (*_IMAGE_FOLDERS, "")]
        return [*places, *(_join(home, name) for name in (*_IMAGE_FOLDERS, "")), own]
    return [own, *(_join(place, name) for place in (own, folder(own)) for name in _IMAGE_FOLDERS)]


def _join(*parts: str) -> str:
    return "/".join(filter(None, parts))


def match_images(tree: VocTree) -> dict[str, str]:
    """For each annotation the image of the same name but for the suffix, where there is one."""
    return match_named_images(tree, {path: path for path in tree.annotations})


def match_named_images(tree: VocTree, names: Mapping[str, str]) -> dict[str, str]:
    """For each annotation in `names` the image whose name, or at least stem, is given."""
    index: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for image in tree.images:
        index[folder(image).lower(), composed(stem(image))].append(image)
    places: dict[str, list[str]] = {}
    matched = {}
    for annotation, name in names.items():
        own = folder(annotation)
        if own not in places:
            places[own] = image_folders(own)
        for place in places[own]:
            if found := index.get((place, composed(stem(name)))):
                exact = [image for image in found if f"/{image}".endswith(f"/{name}")]
                matched[annotation] = (exact or found)[0]
                break
    return matched


def pair_files(
    tree: VocTree, images: Mapping[str, str], lists: Mapping[str, str], skip: set[str]
) -> Iterator[VocPair | Rejected]:
    """What each file is, from the `images` of annotations and the texts of the image set `lists`.

    Annotations in `skip` are left out: they are rejected already.
    """
    sets = read_image_sets(lists, tree.annotations)
    in_folders = bool(tree.annotations) and all(map(split_of_folders, tree.annotations))
    claims = collections.Counter(images.values())
    for annotation in tree.annotations:
        if annotation in skip:
            continue
        image = images.get(annotation, "")
        split = sets.split(annotation)
        if isinstance(split, Rejected):
            yield split
        elif not image:
            yield Rejected(
                source=annotation,
                reason="missing image",
                detail="no image has its name, nor the one in its <filename>",
            )
        elif claims[image] > 1:
            yield Rejected(
                source=annotation,
                reason="two annotations",
                detail=f"{claims[image]} files describe {image}",
            )
        elif not sets.homes and in_folders:
            yield VocPair(annotation, image, split_of_folders(annotation))
        else:
            yield VocPair(annotation, image, split)
    yield from sets.left_over()
    yield from _left_over(tree, frozenset(images.values()), sets)


def _left_over(tree: VocTree, used: frozenset[str], sets: ImageSets) -> Iterator[Rejected]:
    holders = {folder(image) for image in used}
    for image in tree.images:
        home = sets.home(image)
        if image in used or (home is not None and (home, composed(stem(image))) in sets.missing):
            continue  # a listed image without annotation is reported once, by its list
        if folder(image) in holders or any(split_at(image, name) for name in _IMAGE_FOLDERS):
            yield Rejected(
                source=image,
                reason="no annotation",
                detail="no XML file describes the image",
                bad=home is None,
            )
        else:
            yield unused(image)
    yield from map(unused, tree.unused)
