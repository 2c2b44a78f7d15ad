"""Which files of a YOLO tree belong together: image, label file, split.

Paths without "absolute" in their name are relative to the tree's origin, with forward slashes.
"""

import dataclasses
import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from beam_pipeline.records import Rejected, composed
from beam_pipeline.sources.paths import (
    folder,
    has_image_suffix,
    split_at,
    stem,
    suffix,
    unused,
)
from beam_pipeline.sources.references import is_inside
from beam_pipeline.sources.splits import is_split, split_of_folders
from beam_pipeline.sources.yolo.config import YoloConfig, home_of
from beam_pipeline.sources.yolo.darknet import NAME_LISTS


class YoloPair(NamedTuple):
    """An image, its label file ("" where it has none), and the split that they are in."""

    image: str
    label: str
    split: str | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class YoloProfile:
    """What must be known of all files before some can be paired; of the tree's folders alone.

    Attributes:
        image_folders: Folders with images.
        label_folders: Folders `labels`, and those in them, with text files that may be labels.
        mixed_folders: Folders with a label file beside its image: all text files there are
            labels.
        labels: The first label files that have an image.
    """

    image_folders: frozenset[str] = frozenset()
    label_folders: frozenset[str] = frozenset()
    mixed_folders: frozenset[str] = frozenset()
    labels: tuple[str, ...] = ()

    @property
    def has_labels(self) -> bool:
        """Whether there is any label file."""
        return bool(self.label_folders or self.mixed_folders)

    @property
    def chosen_folders(self) -> frozenset[str]:
        """The folders of the dataset's images.

        Those called `images`, or in such; without any, those that have label files.
        """
        if proper := {home for home in self.image_folders if split_at(f"{home}/", "images")}:
            return frozenset(proper)
        return self.image_folders & (self.label_folders | self.mixed_folders)

    @property
    def in_splits(self) -> bool:
        """Whether every image of the dataset lies in the folder of a split."""
        folders = self.chosen_folders
        return bool(folders) and all(split_of_folders(f"{home}/") for home in folders)


# So many label files tell whether their lines have keypoints.
_FILES_LOOKED_INTO = 50


def profile_of(relatives: Iterable[str]) -> YoloProfile:
    """The profile of all files of some names."""
    files = sorted(relatives)
    images = [path for path in files if has_image_suffix(path)]
    image_names = {_without_suffix(path) for path in images}
    texts = [path for path in files if suffix(path) == "txt" and _may_be_label(path)]
    profile = YoloProfile(
        image_folders=frozenset(map(folder, images)),
        label_folders=frozenset(folder(path) for path in texts if split_at(path, "labels")),
        mixed_folders=frozenset(
            folder(path) for path in texts if _without_suffix(path) in image_names
        ),
    )
    labels = sort_files(files, profile).labels
    paired = {labels[key] for key in map(pair_key, images) if key in labels}
    return dataclasses.replace(profile, labels=_first(paired))


def merge_profiles(profiles: Iterable[YoloProfile]) -> YoloProfile:
    """The profile of all files from those of some."""
    profiles = list(profiles)
    return YoloProfile(
        image_folders=frozenset().union(*(each.image_folders for each in profiles)),
        label_folders=frozenset().union(*(each.label_folders for each in profiles)),
        mixed_folders=frozenset().union(*(each.mixed_folders for each in profiles)),
        labels=_first(label for each in profiles for label in each.labels),
    )


def _first(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(heapq.nsmallest(_FILES_LOOKED_INTO, labels))


def _without_suffix(path: str) -> str:
    return composed(path.rpartition(".")[0])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class YoloTree:
    """The files of a tree, each list sorted.

    Attributes:
        images: Files with an image's suffix.
        labels: The label file by what it has in common with its image (`pair_key`).
        unused: All other files.
    """

    images: list[str]
    labels: Mapping[str, str]
    unused: list[str]


def origin_of(config: YoloConfig) -> str:
    """The absolute folder that keys are relative to: the input's, if all splits lie below it."""
    levels = zip(*(path.split("/") for path in listed_folders(config)), strict=False)
    shared = itertools.takewhile(lambda names: len(set(names)) == 1, levels)
    return "/".join(names[0] for names in shared)


def listed_folders(config: YoloConfig) -> list[str]:
    """The absolute folders that hold all images and labels: the root, if it does."""
    paths = [path for paths in (config.splits or {}).values() for path in paths]
    if all(is_inside(path, [config.root]) for path in paths):
        return [config.root]
    homes = set(map(home_of, paths))
    return sorted(home for home in homes if not is_inside(home, homes - {home}))


def sort_files(relatives: Iterable[str], profile: YoloProfile) -> YoloTree:
    """Each of these files where it belongs, given the `profile` of all.

    Text files are labels in a folder `labels`, and in folders where one at least has the name of
    an image beside it.
    """
    files = sorted(relatives)
    images = [path for path in files if has_image_suffix(path)]
    texts = [path for path in files if suffix(path) == "txt" and _may_be_label(path)]
    labels: dict[str, str] = {}
    proper = [path for path in texts if split_at(path, "labels")]
    for path in (*proper, *(path for path in texts if folder(path) in profile.mixed_folders)):
        labels.setdefault(pair_key(path), path)
    used = {*images, *labels.values()}
    return YoloTree(
        images=images, labels=labels, unused=[path for path in files if path not in used]
    )


def _may_be_label(path: str) -> bool:
    name = path.rpartition("/")[2]
    return not (
        name in NAME_LISTS
        or name.lower().startswith(("readme", "license"))
        or (is_split(stem(name)) and not split_at(path, "labels"))
    )


def pair_key(path: str) -> str:
    """What an image and its label file have in common.

    As in Ultralytics: the last folder `images` has its labels in a folder `labels` in its place,
    under the same name but for the suffix; or the label file lies beside the image.
    """
    around = (suffix(path) == "txt" and split_at(path, "labels")) or split_at(path, "images")
    parts = (around[0], "images", around[1], stem(path)) if around else (folder(path), stem(path))
    return composed("/".join(filter(None, parts)))


def pair_files(
    tree: YoloTree, profile: YoloProfile, splits: Mapping[str, Collection[str]] | None
) -> Iterator[YoloPair | Rejected]:
    """What each file is: all images and all label files of some names.

    Args:
        tree: The files.
        profile: Of all files.
        splits: The splits of each image, where the dataset's description tells them.
    """
    folders = profile.chosen_folders
    by_folder = splits is None and profile.in_splits
    matched = set()
    for image in tree.images:
        label = tree.labels.get(pair_key(image), "")
        matched.add(label)
        names = sorted(splits.get(image, ())) if splits is not None else []
        if splits is None and folder(image) not in folders:
            yield unused(image)
        elif not profile.has_labels:
            yield Rejected(
                source=image,
                reason="no label file",
                detail="no image of the dataset has one; labels/ must be next to images/",
            )
        elif len(names) > 1:
            yield Rejected(
                source=image,
                reason="in two splits",
                detail=f"the image is in {', '.join(names)}; take it out of all but one",
            )
        elif splits is not None and not names:
            yield Rejected(
                source=image, reason="in no split", detail="no split names it", bad=False
            )
        else:
            yield YoloPair(
                image, label, split_of_folders(image) if by_folder else next(iter(names), None)
            )
    for label in sorted(set(tree.labels.values()) - matched):
        yield Rejected(
            source=label, reason="missing image", detail="no image has the label file's name"
        )
    yield from map(unused, tree.unused)
