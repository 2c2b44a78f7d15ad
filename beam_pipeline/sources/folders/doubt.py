"""Trees whose folders may be splits, classes or neither: what is in doubt, and the way out."""

import re
from collections.abc import Collection

from beam_pipeline.sources.folders.profile import Profile
from beam_pipeline.sources.paths import AUDIO_SUFFIXES, IMAGE_SUFFIXES
from beam_pipeline.sources.splits import split_in_name
from beam_pipeline.sources.tree import places
from tfrecord_dataset.split_names import is_split

# Folders of images and audio, and of what goes with them, are no classes.
_OF_IMAGES = frozenset({"images", "image", "imgs", "img", "jpegimages", "pictures", "photos"})
_OTHERS = frozenset(
    {"labels", "label", "masks", "mask", "annotations", "annotation", "data"}
    | {"segmentationclass", "segmentationobject"}
    | {"audio", "wavs", "sounds", "clips", "recordings", "arrays"}
)
_NO_CLASSES = _OF_IMAGES | _OTHERS | IMAGE_SUFFIXES | AUDIO_SUFFIXES
_NUMBER = re.compile(r"[_\-. ]?\d+$")
# Words of longer names: HAM10000_images_part_1, img_align_celeba.
_WORDS = frozenset({"images", "imgs", "img", "masks", "annotations"})


def is_no_class(name: str) -> bool:
    """Whether a folder is called like those of images, audio or masks, whatever they show."""
    name = _NUMBER.sub("", name.lower())  # image_2
    return name in _NO_CLASSES or not _WORDS.isdisjoint(re.split(r"[_\-. ]", name))


def doubt(profile: Profile, root: str) -> str:
    """Why the classes and splits of the files below `root` cannot be told, and what tells them.

    "" where they can: where all first folders are splits with classes in common below them, or
    where none is, and files lie in the class folders themselves.
    """
    tops = sorted(profile.tops)
    splits = list(filter(is_split, tops))
    if not tops:
        return ""
    if 0 < len(splits) < len(tops):
        return _some_are_splits(profile, splits, root)
    if splits and not profile.in_splits:
        return (
            f"{places(splits)} are splits without class folders; pass --path-pattern "
            "'{split}/{_}' to read them without labels, or name what the files' names say, as in "
            "'{split}/{label}_{_}'"
        )
    by_split = {
        split: {place[1] for place in profile.folders if place[:1] == (split,) and place[1:]}
        for split in splits
    }
    return _of_classes(by_split if splits else {"": set(tops)}, profile, root)


def _some_are_splits(profile: Profile, splits: Collection[str], root: str) -> str:
    others = sorted(profile.tops - set(splits))
    inner = [
        other
        for other in others
        if any(place[0] == other and is_split(place[1]) for place in profile.folders if place[1:])
    ]
    ways = ["move the others elsewhere", *(f"give {root}/{name} alone" for name in inner[:1])]
    return (
        f"{places(splits)} are splits, but {places(others)} not: {', or '.join(ways)}; where "
        f"all are classes, pass --path-pattern '{_pattern(profile, 0)}'"
    )


def _of_classes(by_split: dict[str, set[str]], profile: Profile, root: str) -> str:
    classes = set().union(*by_split.values())
    depth = 1 if "" not in by_split else 0
    if other := sorted(filter(is_no_class, classes), key=_likely):
        inner = next(path for path in _paths(profile, depth) if path[-1] == other[0])
        return (
            f"{places(['/'.join(inner)])} is no class by its name; give {root}/{'/'.join(inner)} "
            "alone, say what the folders are, as in --path-pattern "
            f"'{_pattern(profile, depth)}', or move the files to <split>/<class>/"
        )
    if strays := sorted(
        name
        for name in filter(is_split, classes)
        if not all(name in names and not all(map(is_split, names)) for names in by_split.values())
    ):
        return (
            f"{places(strays)} in {places(sorted(by_split))} has the name of a split, where "
            f"classes should be; pass --path-pattern '{_pattern(profile)}', or move the files to "
            "<split>/<class>/"
        )
    if len({split_in_name(name) for name in classes if not is_split(name)} - {None}) > 1:
        called = sorted(filter(split_in_name, classes))
        return (
            f"{places(called)} are called after splits, but stand where classes should; move the "
            f"files to <split>/<class>/, or pass --path-pattern '{_pattern(profile)}'"
        )
    named = [(split, names) for split, names in sorted(by_split.items()) if names]
    for at, (split, names) in enumerate(named):
        for other_split, other_names in named[at + 1 :]:
            if not names & other_names:
                return (
                    f"{split}/ and {other_split}/ have no class in common ({places(sorted(names))}"
                    f" against {places(sorted(other_names))}); give {root}/{split} alone, or say "
                    f"what the folders are, as in --path-pattern '{_pattern(profile, 1)}'"
                )
    if again := [
        place
        for place in sorted(profile.folders)
        if place[depth + 1 : depth + 2] and place[depth + 1] in classes
    ]:
        outer = "/".join(again[0][: depth + 1])
        return (
            f"{outer}/ holds {again[0][depth + 1]}/, which is the name of another class folder, "
            f"too; give {root}/{outer} alone, or move it elsewhere; where all are classes, pass "
            f"--path-pattern '{_pattern(profile, depth)}'"
        )
    if _only_folders(profile, depth):
        return (
            f"{places(sorted(classes))} hold folders and no files; where they are the classes, "
            f"pass --path-pattern '{_pattern(profile, depth)}', where those in them are, "
            f"'{_pattern(profile, depth + 1)}'"
            + ("" if depth else ", where the first are splits, '{split}/{label}/**/{_}'")
        )
    return ""


def _likely(name: str) -> tuple[bool, str]:
    return (_NUMBER.sub("", name.lower()) not in _OF_IMAGES, name)


def _paths(profile: Profile, depth: int) -> list[tuple[str, ...]]:
    return sorted(place[: depth + 1] for place in profile.folders if len(place) > depth)


def _only_folders(profile: Profile, depth: int) -> bool:
    """Whether all files lie deeper than in class folders, unless these hold images/ alone."""
    inside = [place[depth + 1 :][:1] for place in profile.folders if len(place) > depth]
    return all(inside) and not all(is_no_class(name) for [name] in inside)


def _pattern(profile: Profile, class_depth: int | None = None) -> str:
    """The path pattern of these folders: where their names are splits, and the next the class."""
    levels = [
        {place[depth] for place in profile.folders if len(place) > depth} for depth in range(3)
    ]
    named = [
        depth for depth in range(3) if levels[depth] and all(map(split_in_name, levels[depth]))
    ]
    split_depth = named[-1] if named else None
    if class_depth is None:
        class_depth = 0 if split_depth is None else split_depth + 1
    parts = ["{_}"] * class_depth
    if split_depth is not None and split_depth < class_depth:
        parts[split_depth] = "{split}"
    has_class = class_depth < 3 and bool(levels[class_depth])
    is_deep = class_depth < 2 and bool(levels[class_depth + 1])
    return "/".join([*parts, *(["{label}"] * has_class), *(["**"] * is_deep), "{_}"])
