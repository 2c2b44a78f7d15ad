"""Which files of a Pascal VOC tree belong together: annotation, image, split.

All paths are relative to the input, with forward slashes. Letter case of folders does not matter.
"""

import collections
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from beam_pipeline.records import Rejected
from beam_pipeline.sources.listing import Names, name_of
from beam_pipeline.sources.paths import (
    folder,
    has_image_suffix,
    split_at,
    suffix,
    unused,
)
from beam_pipeline.sources.splits import split_of_folders

_IMAGE_FOLDERS = ("jpegimages", "images", "data")  # the last is ILSVRC's


class VocPair(NamedTuple):
    """An annotation file, the image that it describes, and the split that they are in."""

    annotation: str
    image: str
    split: str | None


class VocAnnotation(NamedTuple):
    """An annotation file, and what tells its image.

    Attributes:
        path: Of the XML file.
        image: The image of the same name but for the suffix; "" where there is none.
        filename: Where there is none, the annotation's <filename>.
        split: None where nothing tells it.
    """

    path: str
    image: str
    filename: str
    split: str | Rejected | None


class VocImage(NamedTuple):
    """An image file, and what it is if no annotation describes it.

    Attributes:
        path: Of the image.
        already_rejected: As missing its annotation, by the list that names it.
        bad: Whether it should have an annotation: there are no lists.
    """

    path: str
    already_rejected: bool
    bad: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocPaired:
    """What some files are.

    Attributes:
        files: What is clear.
        bare: Images without annotation; what is said of them depends on their folder.
        image_folders: The folders of images with annotations, but those that are known by name.
    """

    files: Sequence[VocPair | Rejected]
    bare: Sequence[VocImage]
    image_folders: frozenset[str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocProfile:
    """What must be known of all files before some can be paired.

    Attributes:
        number: How many files there are.
        places: Where XML files lie: (below an Annotations/, in the folder of a split).
        image_sets: The text files below an ImageSets/.
    """

    number: int = 0
    places: frozenset[tuple[bool, bool]] = frozenset()
    image_sets: frozenset[str] = frozenset()

    @property
    def below_annotations(self) -> bool:
        """Whether only XML files below an Annotations/ are annotations: there are some."""
        return any(below for below, _ in self.places)

    @property
    def in_splits(self) -> bool:
        """Whether every annotation lies in the folder of a split."""
        chosen = [split for below, split in self.places if below == self.below_annotations]
        return bool(chosen) and all(chosen)


def profile_of(parts: Iterable[Names]) -> VocProfile:
    """The profile of some files."""
    number = 0
    places: set[tuple[bool, bool]] = set()
    image_sets: set[str] = set()
    for home, names in parts:
        number += len(names)
        prefix = f"{home}/" if home else ""
        if split_at(prefix, "imagesets"):
            image_sets.update(prefix + name for name in names if suffix(name) == "txt")
        elif any(suffix(name) == "xml" for name in names):
            below = split_at(prefix, "annotations") is not None
            places.add((below, split_of_folders(prefix) is not None))
    return VocProfile(number=number, places=frozenset(places), image_sets=frozenset(image_sets))


def merge_profiles(profiles: Iterable[VocProfile]) -> VocProfile:
    """The profile of all files from those of some."""
    profiles = list(profiles)
    return VocProfile(
        number=sum(each.number for each in profiles),
        places=frozenset().union(*(each.places for each in profiles)),
        image_sets=frozenset().union(*(each.image_sets for each in profiles)),
    )


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


def sort_files(relatives: Iterable[str], below_annotations: bool | None = None) -> VocTree:
    """Each file where it belongs.

    Args:
        relatives: Some files or all.
        below_annotations: Whether only XML files below an Annotations/ are annotations; None
            where `relatives` tell, which are all.
    """
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
    if below_annotations is None:
        below_annotations = bool(annotations)
    chosen = set(annotations if below_annotations else kinds["xml"])
    return VocTree(
        annotations=[path for path in kinds["xml"] if path in chosen],
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


def match_images(images: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """For each annotation in `names` the image whose name, or at least stem, is given.

    Where an image has its own name but for the suffix, an annotation's path is the name.
    """
    index: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for image in images:
        index[folder(image).lower(), name_of(image)].append(image)
    places: dict[str, list[str]] = {}
    matched = {}
    for annotation, name in names.items():
        own, wanted = folder(annotation), name_of(name)
        if own not in places:
            places[own] = image_folders(own)
        for place in places[own]:
            if found := index.get((place, wanted)):
                exact = [image for image in found if f"/{image}".endswith(f"/{name}")]
                matched[annotation] = (exact or found)[0]
                break
    return matched


def pair_files(annotations: Collection[VocAnnotation], images: Collection[VocImage]) -> VocPaired:
    """What each of these files is: all images of some names, and all annotations of these."""
    annotations, images = sorted(annotations, key=lambda each: each.path), sorted(images)
    own = {each.path: each.image for each in annotations if each.image}
    named = match_images(
        [image.path for image in images],
        {each.path: each.filename for each in annotations if not each.image},
    )
    claims = collections.Counter(own.values())
    named_claims = collections.Counter(named.values())
    files: list[VocPair | Rejected] = []
    for each in annotations:
        image = each.image or named.get(each.path, "")
        if isinstance(each.split, Rejected):
            files.append(each.split)
        elif not image:
            files.append(
                Rejected(
                    source=each.path,
                    reason="missing image",
                    detail="no image has its name, nor the one in its <filename>",
                )
            )
        elif not each.image and claims[image]:
            files.append(
                _second(each, f"its <filename> names {image}, which an XML file of its name has")
            )
        elif (describe := (claims if each.image else named_claims)[image]) > 1:
            files.append(_second(each, f"{describe} files describe {image}"))
        else:
            files.append(VocPair(each.path, image, each.split))
    used = {*own.values(), *named.values()}
    return VocPaired(
        files=files,
        bare=[image for image in images if image.path not in used and not image.already_rejected],
        image_folders=frozenset(folder(path) for path in used if not _in_image_folder(path)),
    )


def _second(annotation: VocAnnotation, detail: str) -> Rejected:
    return Rejected(source=annotation.path, reason="two annotations", detail=detail)


def _in_image_folder(path: str) -> bool:
    return any(split_at(path, name) for name in _IMAGE_FOLDERS)


def reject_bare(images: Iterable[VocImage], image_folders: Collection[str]) -> Iterator[Rejected]:
    """What images without annotation are: such that lack one, or no images of the dataset."""
    for path, _, bad in images:
        if folder(path) in image_folders or _in_image_folder(path):
            yield Rejected(
                source=path,
                reason="no annotation",
                detail="no XML file describes the image",
                bad=bad,
            )
        else:
            yield unused(path)
