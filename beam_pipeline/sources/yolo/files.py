"""Which files of a YOLO tree belong together: image, label file, split.

Paths without "absolute" in their name are relative to the tree's origin, with forward slashes.
"""

import dataclasses
import itertools
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import DeclaredClasses, Rejected, composed
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
from beam_pipeline.sources.splits import is_split, split_of_folders
from beam_pipeline.sources.yolo.config import YoloConfig
from beam_pipeline.sources.yolo.darknet import NAME_LISTS


@dataclasses.dataclass(frozen=True, slots=True)
class YoloPair:
    """An image, its label file ("" where it has none), and the split that they are in."""

    image: str
    label: str
    split: str | None


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


def list_yolo(
    origin: str, config: YoloConfig
) -> Iterator[Sequence[YoloPair | Rejected | DeclaredClasses]]:
    """What every file of the dataset is, in batches; the classes first, if they have names."""
    if config.names is not None:
        yield [DeclaredClasses(feature="boxes", names=config.names)]
    description = {config.source, *itertools.chain(*(config.splits or {}).values())}
    tree = sort_files(
        file.path[len(origin) :].lstrip("/")
        for top in listed_folders(config)
        for file in storage.list_files(top)
        if file.path not in description
    )
    if config.splits is None:
        yield from in_batches(pair_files(tree, splits_by_folder(tree)))
        return
    splits: dict[str, set[str]] = {image: set() for image in tree.images}
    rejected = []
    for split, paths in config.splits.items():
        for path in paths:
            if path.endswith(".txt"):
                found, missing = _read_list(path, origin, config, splits.keys())
                rejected += missing
            else:
                start = f"{path}/"[len(origin) + 1 :]
                found = [image for image in tree.images if image.startswith(start)]
            for image in found:
                splits[image].add(split)
    yield from in_batches([*rejected, *pair_files(tree, splits)])


def origin_of(config: YoloConfig) -> str:
    """The absolute folder that keys are relative to: the input's, if all splits lie below it."""
    levels = zip(*(path.split("/") for path in listed_folders(config)), strict=False)
    shared = itertools.takewhile(lambda names: len(set(names)) == 1, levels)
    return "/".join(names[0] for names in shared)


def listed_folders(config: YoloConfig) -> list[str]:
    """The absolute folders that hold all images and labels: the root, if it does."""
    paths = [path for paths in (config.splits or {}).values() for path in paths]
    if all(_inside(path, config.root) for path in paths):
        return [config.root]
    homes = set()
    for path in paths:
        around = split_at(f"{path}/", "images")
        homes.add(around[0] if around else folder(path) if path.endswith(".txt") else path)
    return sorted(
        home for home in homes if not any(home != top and _inside(home, top) for top in homes)
    )


def _inside(path: str, top: str) -> bool:
    return f"{path}/".startswith(f"{top.rstrip('/')}/")


def sort_files(relatives: Iterable[str]) -> YoloTree:
    """Each file where it belongs.

    Text files are labels in a folder `labels`, and in folders where one at least has the name of
    an image beside it.
    """
    files = sorted(relatives)
    images = [path for path in files if has_image_suffix(path)]
    image_names = {composed(path.rpartition(".")[0]) for path in images}
    texts = [path for path in files if suffix(path) == "txt" and _may_be_label(path)]
    holders = {folder(path) for path in texts if composed(path.rpartition(".")[0]) in image_names}
    labels: dict[str, str] = {}
    proper = [path for path in texts if split_at(path, "labels")]
    for path in (*proper, *(path for path in texts if folder(path) in holders)):
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


def splits_by_folder(tree: YoloTree) -> dict[str, set[str]] | None:
    """The split of each image, where every image lies below a folder with a split's name."""
    named = {image: split_of_folders(image) for image in chosen_images(tree)}
    if not named or not all(named.values()):
        return None
    return {image: {split} for image, split in named.items() if split}


def chosen_images(tree: YoloTree) -> list[str]:
    """The images below a folder `images`; else those in folders that have label files."""
    if below_images := [path for path in tree.images if split_at(path, "images")]:
        return below_images
    holders = {folder(path) for path in tree.labels.values()}
    return [path for path in tree.images if folder(path) in holders]


def pair_files(
    tree: YoloTree, splits: Mapping[str, set[str]] | None
) -> Iterator[YoloPair | Rejected]:
    """What each file is; `splits` are the splits of each image, None where there are none."""
    chosen = set(chosen_images(tree)) if splits is None else splits.keys()
    matched = set()
    for image in tree.images:
        label = tree.labels.get(pair_key(image), "")
        matched.add(label)
        names = sorted(splits.get(image, ())) if splits is not None else []
        if image not in chosen:
            yield unused(image)
        elif not tree.labels:
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
            yield YoloPair(image, label, names[0] if names else None)
    for label in sorted(set(tree.labels.values()) - matched):
        yield Rejected(
            source=label, reason="missing image", detail="no image has the label file's name"
        )
    yield from map(unused, tree.unused)


def _read_list(
    path: str, origin: str, config: YoloConfig, images: Iterable[str]
) -> tuple[list[str], list[Rejected]]:
    """The images that the list at the absolute `path` names, and those that are not there."""
    source = path[len(origin) :].lstrip("/")
    try:
        text = storage.read_text(path)
    except RecordError as error:
        return [], [Rejected(source=source, reason=error.reason, detail=error.detail)]
    bases = [
        folder(source),
        *(base[len(origin) + 1 :] for base in config.bases if _inside(base, origin)),
    ]
    found, rejected = [], []
    known = {composed(image): image for image in images}
    for number, line in enumerate(text.splitlines(), start=1):
        if not (line := line.strip().replace("\\", "/")):
            continue
        places = map(composed, listed_places(line, origin, bases))
        if (image := next((known[place] for place in places if place in known), None)) is not None:
            found.append(image)
        else:
            rejected.append(
                Rejected(
                    source=f"{source}:{number}",
                    reason="missing image",
                    detail=f"{line!r} is listed and is not below {origin}",
                )
            )
    return found, rejected


def listed_places(line: str, origin: str, bases: Iterable[str]) -> Iterator[str]:
    """Where an image of a list may be, most likely first.

    Relative to the list, to the dataset's `path` or to the origin; written for another machine,
    it may be below the origin without its first folders.
    """
    if line.startswith(below(origin, "")):
        yield posixpath.normpath(line)[len(below(origin, "")) :]
    elif not line.startswith("/"):
        for base in bases:
            yield posixpath.normpath(posixpath.join(base, line))
    parts = [part for part in line.split("/") if part not in ("", ".", "..")]
    for start in range(len(parts)):
        yield "/".join(parts[start:])
