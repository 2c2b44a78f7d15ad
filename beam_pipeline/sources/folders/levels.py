"""Whether the levels of class folders agree.

They do if all files are equally deep below their split, each split has only classes of the largest
one, no level repeats the names above it, the first folders do not contain words for splits, and the
second ones are not named after them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from beam_pipeline.kinds.wording import brief, first_names
from beam_pipeline.sources.folders.structure import FolderRoles, Place, is_no_class
from tfrecord_dataset.format.split_names import is_split, split_in_name

_SHOWN = 3


def classes_by_split(folders: Iterable[Place], roles: FolderRoles) -> Mapping[str, set[str]]:
    """Return the classes of each split; those of all files are at "" if there are no splits."""
    by_split: dict[str, set[str]] = {split: set() for split in roles.splits or ("",)}
    for folder in folders:
        split, label = roles.place(folder) or ("", "")
        if label:
            by_split[split or ""].add(label)
    return by_split


def levels(folders: Collection[Place], roles: FolderRoles) -> Mapping[Place, Place]:
    """Return the names below a split that may be classes, by folder; leave out what is rejected.

    These are files next to class folders, and folders of files named after their kind, such as
    masks/. Below a class, such a name does not count, nor in a split without classes.
    """
    start = len(roles.splits[:1])
    classes = [folder for folder in folders if len(folder) > start]
    with_classes = {folder[:start] for folder in classes if not is_no_class(folder[start])}
    found = {}
    for folder in folders:
        below = folder[start:]
        if len(below) == 1 and is_no_class(below[0]):
            below = ()
        if len(folder) >= start and (below or folder[:start] not in with_classes):
            inner = (name for name in below[1:] if not is_no_class(name))
            found[folder] = (*below[:1], *inner)
    return found


def by_depth(names: Mapping[Place, Place]) -> Mapping[int, Sequence[Place]]:
    """Group folders by the number of their levels."""
    groups: defaultdict[int, list[Place]] = defaultdict(list)
    for folder, below in names.items():
        groups[len(below)].append(folder)
    return groups


def disagreement(folders: Collection[Place], roles: FolderRoles) -> str | None:
    """Return how the levels of folders disagree, as the end of a sentence; None if they agree."""
    return next(_disagreements(folders, roles), None)


def _disagreements(folders: Collection[Place], roles: FolderRoles) -> Iterator[str]:
    if roles.class_depth is None:
        return
    names = levels(folders, roles)
    # Else it makes no difference which level is the class.
    if any(below[:1] != below[-1:] or not below for below in names.values()):
        groups = by_depth(names).values()
        if len(groups) > 1:
            yield f"folders with files differ in depth ({_examples(map(min, groups))})"
        if repeated := _repeated([*names], roles.class_depth):
            yield f"folders repeat the name above them ({_examples(repeated)})"
    if pair := splits_apart(classes_by_split(folders, roles)):
        shown = (f"{split}: {first_names(sorted(each)[:_SHOWN])}" for split, each in pair)
        yield f"splits differ in their classes ({'; '.join(shown)})"
    inner = sorted({"/".join(each[:2]) for each in names.values() if is_split("".join(each[1:2]))})
    if not roles.splits and len({name.rpartition("/")[2] for name in inner}) > 1:
        yield f"folders below the first ones are named after splits ({first_names(inner)})"
    tops = sorted({folder[0] for folder in folders if folder})
    words = {*map(split_in_name, tops)}
    if not roles.splits and len(tops) > 1 and (None not in words or len(words - {None}) > 1):
        yield f"first folders contain words for splits ({first_names(tops)})"


def _examples(folders: Iterable[Place]) -> str:
    return ", ".join(brief("/".join(folder)) for folder in sorted(folders)[:_SHOWN])


def _repeated(folders: Sequence[Place], depth: int) -> Sequence[Place]:
    """Return folders of a level that repeats all names above it, next to that of the classes."""
    for level in range(max(depth, 1), depth + 2):
        deep = [folder for folder in folders if len(folder) > level]
        if deep and all(folder[level] == folder[level - 1] for folder in deep):
            return sorted({folder[: level + 1] for folder in deep})
    return ()


def splits_apart(classes: Mapping[str, set[str]]) -> list[tuple[str, set[str]]]:
    """Return the largest split and one with other classes, or nothing."""
    most = max(classes, key=lambda split: len(classes[split]))
    for split, names in classes.items():
        if not names <= classes[most]:
            return [(most, classes[most]), (split, names - classes[most])]
    return []
