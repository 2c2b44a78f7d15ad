"""Trees whose folders may be splits, classes or neither: what is in doubt, and the way out."""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence

from beam_pipeline.media import png
from beam_pipeline.sources.beside import Named
from beam_pipeline.sources.folders.by_names import by_names, of_speakers, ways
from beam_pipeline.sources.folders.masks import masks
from beam_pipeline.sources.folders.profile import Profile
from beam_pipeline.sources.folders.views import pair, same_things, things
from beam_pipeline.sources.paths import AUDIO_SUFFIXES, IMAGE_SUFFIXES, below
from beam_pipeline.sources.tree import head, places
from tfrecord_dataset.split_names import is_split, split_in_name

# Folders of images and audio, and of what goes with them, are no classes.
_OF_IMAGES = frozenset({"images", "image", "imgs", "img", "jpegimages", "pictures", "photos"})
_OTHERS = frozenset(
    {"labels", "label", "masks", "mask", "annotations", "annotation", "data", "manualmask"}
    | {"segmentationclass", "segmentationobject"}
    | {"samples", "sweeps", "frames"}  # nuScenes
    | {"audio", "wavs", "sounds", "clips", "recordings", "arrays"}
)
_NO_CLASSES = _OF_IMAGES | _OTHERS | IMAGE_SUFFIXES | AUDIO_SUFFIXES - {"au"}  # CASIA's authentic
_MAX_NAMED = 5
_NUMBER = re.compile(r"[_\-. ]?\d+$")
# Words of longer names: HAM10000_images_part_1, img_align_celeba, 5_Labels_all.
_WORDS = frozenset({"images", "imgs", "img", "masks", "labels", "annotations"})
_OF_ANNOTATIONS = frozenset({"annotations", "annotation", "ground truth", "groundtruth"})
_OF_MASKS = frozenset({"labels", "label", "masks", "mask", "manualmask"})
# What is numbered so is a share of the files: video_0, Actor_01.
_SHARES = frozenset(
    {"part", "fold", "batch", "chunk", "shard", "video", "clip", "seq", "sequence", "scene"}
    | {"actor", "patient"}
)


def is_no_class(name: str) -> bool:
    """Whether a folder is called like those of images, audio or masks, whatever they show."""
    lowered = name.lower()
    name = _NUMBER.sub("", lowered)  # image_2
    is_share = name in _SHARES and name != lowered
    return is_share or name in _NO_CLASSES or not _WORDS.isdisjoint(_words(name))


def _words(name: str) -> list[str]:
    return re.split(r"[_\-. ]", name.lower())


_NOUNS = {"image": "images", "audio": "audio files", "array": "arrays", "text": "texts"}


def doubt(profile: Profile, root: str, kind: str = "image", *, one_class: bool = False) -> str:
    """Why the files below `root` cannot be read as they lie, and what helps; "" where they can.

    They can where all first folders are splits with classes in common below them, or where none
    is, and files lie in the class folders themselves; where none is the mask of another; and
    where there are several classes, or no file beside that may hold the labels.

    Args:
        profile: Of the files.
        root: Of the folder, an absolute path or URL.
        kind: Of the files.
        one_class: Whether a single class is what a user wants.
    """
    if kind == "image" and (
        problem := masks(profile.names, lambda path: png.has_one_channel(head(below(root, path))))
    ):
        return problem
    not_read = f"; {_were(profile.beside)} not read" if profile.beside.number else ""
    if problem := _of_pair(profile, root) or _of_folders(profile, root):
        return problem + ("" if "--ignore" in problem else not_read)
    classes = sorted(profile.classes)
    if kind == "audio" and (problem := of_speakers(profile)):
        return problem
    if len(classes) == 1 and not one_class:
        [folder] = classes
        inner = "" if profile.in_splits else f" give {root}/{folder} to read them without labels,"
        problem = (
            f"{folder}/ is the only class folder, so that all {_NOUNS[kind]} would be of one class;"
            f"{inner} or pass --one-class, if it is their class"
            f"{by_names(profile, '{split}/{_}/' if profile.in_splits else '{_}/')}"
        )
        return problem + not_read
    if "pts" in profile.beside.suffixes:
        return (
            f"{_were(profile.beside)} not read, which have the landmarks of images; to read the "
            f"folders as classes, pass {profile.beside.ignoring()}"
        )
    homes = {name for path in profile.beside.first for name in path.lower().split("/")[:-1]}
    if len(classes) > 1 and not _OF_ANNOTATIONS.isdisjoint(homes):
        return (
            f"{_were(profile.beside)} not read, and lie in a folder called like that of "
            f"annotations; to read the folders as classes, pass {profile.beside.ignoring()}"
        )
    if len(classes) > 1:
        return same_things(profile, root, _pattern(profile, profile.class_depth))
    return unread(profile, root, kind, "are all of one class" if classes else "have no labels")


def _of_pair(profile: Profile, root: str) -> str:
    """That the folders at one depth are the two sides of pairs."""
    depths = range(max(map(len, profile.folders), default=0))
    return next(
        filter(None, (pair(profile, root, _pattern(profile, each), each) for each in depths)), ""
    )


def unread(profile: Profile, root: str, kind: str, state: str = "have no labels") -> str:
    """That files lie beside that may hold the labels of those that have none; "" without such."""
    if not profile.beside.number:
        return ""
    return (
        f"{_were(profile.beside)} not read, and the {_NOUNS[kind]} {state}; pass "
        f"{profile.beside.ignoring()} to read the {_NOUNS[kind]} alone"
    )


def _were(files: Named) -> str:
    return f"{files} {'was' if files.number == 1 else 'were'}"


def _of_folders(profile: Profile, root: str) -> str:
    """Why the classes and splits of the files cannot be told, and what tells them."""
    tops = sorted(profile.tops)
    splits = list(filter(is_split, tops))
    if not tops:
        return ""
    if 0 < len(splits) < len(tops):
        return _some_are_splits(profile, splits, root)
    if splits and not profile.in_splits:
        return (
            f"{places(splits)} are splits without class folders"
            f"{ways(profile, ('to read them without labels', '{split}/{_}'))}"
            f"{by_names(profile)}"
        )
    by_split = {
        split: {place[1] for place in profile.folders if place[:1] == (split,) and place[1:]}
        for split in splits
    }
    return _of_classes(by_split if splits else {"": set(tops)}, profile, root)


def _some_are_splits(profile: Profile, splits: Sequence[str], root: str) -> str:
    others = sorted(profile.tops - set(splits))
    inner = [
        other
        for other in others
        if any(place[0] == other and is_split(place[1]) for place in profile.folders if place[1:])
    ]
    has_folders = profile.has_folders_in
    classes_lie_in_others = any(map(has_folders, others)) and not any(map(has_folders, splits))
    stray = splits if classes_lie_in_others and not inner else others
    helps = [
        _without(stray, root) or "move the others elsewhere",
        *(f"give {root}/{name} alone" for name in inner[:1]),
    ]
    return (
        f"{places(splits)} are splits, but {places(others)} not: {', or '.join(helps)}"
        f"{ways(profile, ('where all are classes', _pattern(profile, 0)))}"
    )


def _of_classes(by_split: dict[str, set[str]], profile: Profile, root: str) -> str:
    classes = set().union(*by_split.values())
    depth = 1 if "" not in by_split else 0
    if other := sorted(filter(is_no_class, classes), key=_likely):
        inner = next(path for path in _paths(profile, depth) if path[-1] == other[0])
        told = f"{places(['/'.join(inner)])} is no class by its name; give {root}/"
        if not _OF_MASKS.isdisjoint(_words(other[0])):
            told = (
                told.removesuffix(f"give {root}/")
                + f"leave it out by --ignore {shlex.quote(other[0])}"
            )
            return told + ways(profile, ("where the folders are classes", _pattern(profile, depth)))
        for split, names in by_split.items():
            if names and not any(map(is_no_class, names)):
                return f"{told}{split} alone, which has class folders"
        holders = {path[:-1] for path in _paths(profile, depth + 1)}
        if depth and len(holders) == 1 and len(set(_paths(profile, depth))) > 1:
            return f"{told}{'/'.join(holders.pop())} alone, which has class folders"
        way = ways(profile, ("where the folders are classes", _pattern(profile, depth)))
        return f"{told}{'/'.join(inner)} alone{way}"
    if strays := sorted(
        name
        for name in filter(is_split, classes)
        if not all(name in names and not all(map(is_split, names)) for names in by_split.values())
    ):
        return (
            f"{places(strays)} in {places(sorted(by_split))} has the name of a split, where "
            f"classes should be{ways(profile, ('to read it so', _pattern(profile)))}, or move the "
            "files to <split>/<class>/"
        )
    said = [split_in_name(name) for name in classes if not is_split(name)]
    if _several(said) or (said[1:] and all(said)):  # DIV2K_train_HR, DIV2K_train_LR
        called = sorted(filter(split_in_name, classes))
        way = ways(profile, ("where all folders are splits", _pattern(profile)))
        return (
            f"{places(called)} are called after splits, but stand where classes should; move the "
            f"files to <split>/<class>/{way}{by_names(profile)}"
        )
    if told := things(profile, root, _pattern(profile, depth)):
        return told
    named = [(split, names) for split, names in sorted(by_split.items()) if names]
    for at, (split, names) in enumerate(named):
        for other_split, other_names in named[at + 1 :]:
            if not names & other_names:
                return (
                    f"{split}/ and {other_split}/ have no class in common ({places(sorted(names))}"
                    f" against {places(sorted(other_names))}); give {root}/{split} alone"
                    f"{ways(profile, ('where that is meant', _pattern(profile, 1)))}"
                )
    if again := [
        place
        for place in sorted(profile.folders)
        if place[depth + 1 : depth + 2] and place[depth + 1] in classes
    ]:
        outer = "/".join(again[0][: depth + 1])
        return (
            f"{outer}/ holds {again[0][depth + 1]}/, which is the name of another class folder, "
            f"too; give {root}/{outer} alone, or {_without([outer], root) or 'move it elsewhere'}"
            f"{ways(profile, ('where all are classes', _pattern(profile, depth)))}"
        )
    if deeper := _depth_of_only_folders(profile, depth):
        views = profile, root, _pattern(profile, deeper), deeper
        if told := same_things(*views) or things(*views):
            return told
        below_first = "{_}/" * (deeper - 1)
        alone = f"; give {root}/{min(classes)} alone" if profile.tops == {min(classes)} else ""
        return f"{places(sorted(classes))} hold folders and no files{alone}" + ways(
            profile,
            ("where they are the classes", _pattern(profile, depth)),
            (f"where those in them are{_of_one_name(profile, deeper)}", _pattern(profile, deeper)),
            *(
                []
                if depth
                else [("where the first are splits", f"{{split}}/{below_first}{{label}}/**/{{_}}")]
            ),
        )
    return ""


def _without(folders: Sequence[str], root: str) -> str:
    """ "leave out docs/ by --ignore docs"; "" where that fits the folder of all, too."""
    if root.rpartition("/")[2] in folders:
        return ""
    ignoring = " ".join(f"--ignore {shlex.quote(each)}" for each in folders[:_MAX_NAMED])
    return f"leave out {places(folders)} by {ignoring}" if len(folders) <= _MAX_NAMED else ""


def _likely(name: str) -> tuple[bool, bool, str]:
    of_masks = not _OF_MASKS.isdisjoint(_words(name))
    return (of_masks, _NUMBER.sub("", name.lower()) not in _OF_IMAGES, name)


def _paths(profile: Profile, depth: int) -> list[tuple[str, ...]]:
    return sorted(place[: depth + 1] for place in profile.folders if len(place) > depth)


def _depth_of_only_folders(profile: Profile, depth: int) -> int:
    """The depth of the folders that may be classes in place of those that hold no files.

    0 where class folders hold files, or images/ alone that does; amazon/images/mug/ is of neither.
    """
    inside = [place[depth + 1 :][:1] for place in profile.folders if len(place) > depth]
    if not all(inside):
        return 0
    if not all(is_no_class(name) for [name] in inside):
        return depth + 1
    return depth + 2 if any(len(place) > depth + 2 for place in profile.folders) else 0


def _of_one_name(profile: Profile, depth: int) -> str:
    """That folders of one name, which lie in several, are one class: Omniglot's character01."""
    inner = Counter(place[-1] for place in set(_paths(profile, depth)))
    return ", those of one name together" if max(inner.values(), default=0) > 1 else ""


def _several(splits: Iterable[str | None]) -> bool:
    """Whether names are called after more than one split."""
    return len({*splits} - {None}) > 1


def _pattern(profile: Profile, class_depth: int | None = None) -> str:
    """The path pattern of these folders: where their names are splits, and the next the class."""
    levels = [
        {place[depth] for place in profile.folders if len(place) > depth} for depth in range(3)
    ]
    splits = [[*map(split_in_name, level)] for level in levels]
    named = [
        depth
        for depth in range(3)
        if splits[depth] and (all(splits[depth]) or _several(splits[depth]))
    ]
    split_depth = named[-1] if named else None
    if class_depth is None:
        class_depth = 0 if split_depth is None else split_depth + 1
        inner = levels[class_depth] if class_depth < 2 else ()
        class_depth += bool(inner) and all(map(is_no_class, inner))  # Training/Images/<class>
    parts = ["{_}"] * class_depth
    if split_depth is not None and split_depth < class_depth:
        parts[split_depth] = "{split}"
    has_class = class_depth < 3 and bool(levels[class_depth])
    is_deep = class_depth < 2 and bool(levels[class_depth + 1])
    return "/".join([*parts, *(["{label}"] * has_class), *(["**"] * is_deep), "{_}"])
