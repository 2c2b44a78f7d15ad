"""Whether folders state the classes; if not, the ways to read them, with the options of each."""

import glob
import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from beam_pipeline.kinds.wording import count_classes, first_names
from beam_pipeline.problems import Problem, Reading
from beam_pipeline.records import composed
from beam_pipeline.sources.folders.levels import (
    by_depth,
    classes_by_split,
    disagreement,
    levels,
    splits_apart,
)
from beam_pipeline.sources.folders.pattern import literal, parse_pattern
from beam_pipeline.sources.folders.structure import (
    DEPTH,
    NOUNS,
    FolderRoles,
    Place,
    Structure,
    is_no_class,
)
from beam_pipeline.sources.paths import joined
from beam_pipeline.sources.tables.types import class_name
from beam_pipeline.sources.tree import Ignored
from tfrecord_dataset.format.split_names import is_split, split_word
from tfrecord_dataset.shown_text import counted

_MOST = 3
_MOST_UNUSED = 1
_SPLIT, _ANY = "{split}/", "{_}/"
_FIRST, _LAST, _NO_CLASS = "{label}/**/{_}", "**/{label}/{_}", "**/{_}"
_SPLIT_BELOW = "{label}/{split}/**/{_}"
_IF_ANY = "{label?}/**/{_}"
_BETWEEN = ("_", "-", ".", " ")

Assigned = Mapping[Place, tuple[str | None, str | None]]
"""Split and class of the files in each folder that a reading reads."""
_Found = tuple[Assigned, Mapping[str, tuple[str, ...]]]
"""The folders that a reading covers, and its options."""


def no_only_folder(ignored: Sequence[str]) -> str:
    """Return "": it is not known whether a folder holds all others."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Folders that may be read in several ways.

    Attributes:
        structure: Their structure.
        base: Their path below the input.
        at_least: Prefix of numbers of files.
        only_folder: Returns the path of the folder that holds all others if patterns are ignored,
            or "". Such a folder is read without being named.
    """

    structure: Structure
    base: str = ""
    at_least: str = ""
    only_folder: Callable[[Sequence[str]], str] = no_only_folder

    def readings(self) -> tuple[Reading, ...]:
        """Return up to three readings."""
        return tuple(self._reading(*each) for each in _distinct(self._found()))

    def without_classes(self) -> tuple[Reading, ...]:
        """Return readings of folders that are named after kinds of files: the largest, or all."""
        roles = self.structure.roles()
        sizes: Counter[str] = Counter()
        for place, number in self.structure.folders.items():
            sizes.update(dict.fromkeys(place[roles.class_depth : DEPTH][:1], number))
        kinds = [name for name, _ in sizes.most_common()]
        found: list[_Found] = []
        for kept in [*([name] for name in kinds[: _MOST - 1]), kinds]:
            found += self._all_but({*kinds}.difference(kept))
        return tuple(self._reading(*each) for each in _distinct(found))

    def of_masks(self, homes: Iterable[str]) -> tuple[Reading, ...]:
        """Return the readings without folders of masks, `homes`, and with all as classes."""
        roles = self.structure.roles()
        found = [*self._all_but(homes)]
        places = {place: roles.place(place) for place in self.structure.folders}
        classes = {place: each for place, each in places.items() if each}
        return tuple(self._reading(*each) for each in [*found, (classes, {"layout": ("folders",)})])

    def _all_but(self, names: Iterable[str]) -> Iterator[_Found]:
        """Yield the reading without folders of these names, and without classes."""
        ignored = tuple(map(glob.escape, sorted(names)))
        text = (_SPLIT if self.structure.roles().splits else "") + _NO_CLASS
        return self._by_patterns([text], self._kept(ignored), ignored)

    def of_one_class(self, name: str) -> tuple[Reading, ...]:
        """Return the readings of the only class folder: folders in it as classes, or one class."""
        roles, folders = self.structure.roles(), self.structure.folders
        others = sorted({place[:1] for place in folders if place} - {(name,)})
        below = () if others else self._by_patterns([f"{literal(name)}/{_FIRST}"], folders, ())
        inner = self._without(others) if others and not roles.splits else next(iter(below), None)
        if not inner:
            return ()
        # Of an input with one folder, that folder is the class.
        top = self.base.partition("/")[0]
        number = sum(folders[place] for place in folders if top or place[:1] == (name,))
        what = effect(self.at_least, self.structure.kind, {class_name(top or name): number}, ())
        return self._reading(*inner), Reading({"one_class": ("true",)}, what)

    def _reading(self, assigned: Assigned, options: Mapping[str, tuple[str, ...]]) -> Reading:
        splits = {split for split, _ in assigned.values() if split}
        labels: Counter[str | None] = Counter()
        for place, (_, label) in assigned.items():
            labels[label or None] += self.structure.folders[place]
        what = effect(self.at_least, self.structure.kind, labels, splits)
        return Reading(options, what)

    def _found(self) -> Iterator[_Found]:
        """Yield readings, likely ones first."""
        roles = self.structure.roles()
        names = levels(self.structure.folders, roles)
        groups = by_depth(names)
        top = _SPLIT if roles.splits else _top_with_split(names)
        below = (
            [_SPLIT + _FIRST, _SPLIT + _LAST, _ANY + _FIRST]
            if roles.splits
            else [_SPLIT_BELOW, _LAST, _FIRST]
        )
        unused = [place for place in self.structure.folders if place not in names]
        ignored = tuple(self._ignoring(place) for place in unused if roles.place(place))
        kept = self._kept(ignored)
        # Other files may be in folders of the same name, and more names do not fit a line.
        read = names if kept.keys() >= names.keys() and len(ignored) <= _MOST_UNUSED else ()

        yield from self._by_patterns(_with_split_words(top), read, ignored)
        if len(groups) > 1 or not roles.splits:
            yield from self._without_one_of(self._parts(roles, groups))
        if roles.splits and () in names.values():  # one of them has no class folders
            yield from self._by_patterns([_SPLIT + _IF_ANY], read, ignored)
        yield from self._by_patterns(below, read, ignored)
        if len(groups) == 1 and splits_apart(classes_by_split(names, roles)):
            yield from self._without_one_of([[(split,)] for split in reversed(roles.splits)])
        yield from self._by_patterns([top + _NO_CLASS] if top else (), read, ignored)

    def _kept(self, ignored: tuple[str, ...]) -> Mapping[Place, int]:
        is_ignored = Ignored(ignored, self.base)
        folders = self.structure.folders.items()
        return {place: number for place, number in folders if not is_ignored("/".join(place))}

    def _by_patterns(
        self, texts: Iterable[str], places: Collection[Place], ignored: tuple[str, ...]
    ) -> Iterator[_Found]:
        """Yield the readings of patterns that suit all places; other files may be rejected."""
        lead = literal(f"{self.base}/" if self.base else "")
        others = [place for place in self._kept(ignored) if place not in places]
        for text in texts if places else ():
            if assigned := by_pattern(text, places, others):
                options = {"ignore": ignored} if ignored else {}
                yield assigned, options | {"path_pattern": (lead + text,)}

    def _without_one_of(self, parts: Iterable[Sequence[Place]]) -> Iterator[_Found]:
        """Yield the reading of most files without one of the parts, if possible with classes."""
        found = [each for part in parts if (each := self._without(part))]
        sizes = [
            (
                any(label for _, label in read.values()),
                sum(map(self.structure.folders.__getitem__, read)),
            )
            for read, _ in found
        ]
        if found:
            yield found[sizes.index(max(sizes))]

    def _parts(
        self, roles: FolderRoles, groups: Mapping[int, Sequence[Place]]
    ) -> Iterator[Sequence[Place]]:
        """Yield folders of which to leave out one part: those next to splits, or of one depth."""
        tops = {place[:1] for place in self.structure.folders if place}
        others = sorted(top for top in tops if not is_split(*top))
        if not roles.splits and len(others) < len(tops):
            if len(others) <= _MOST:
                yield others
            return
        if roles.splits and 0 in groups:  # splits without class folders
            yield sorted({place[:1] for place in groups[0]})
        for group in groups.values():
            if root := _root_of(group, groups):
                yield [root]

    def _without(self, part: Sequence[Place]) -> _Found | None:
        """Read the rest without some folders; name the folders above it if needed."""
        patterns = tuple(map(self._ignoring, part))
        kept = self._kept(patterns)
        above: Place = ()
        rest = kept
        is_known = all(len(place) < DEPTH for place in kept)
        while not (is_known and (assigned := _agreed(rest))):
            tops = {place[:1] for place in rest} if is_known else ()
            if len(tops) != 1 or tops == {()}:
                words = _with_split_words(_top_with_split(kept))
                return next(self._by_patterns(words, kept, patterns), None)
            above += tops.pop()
            rest = {place[1:]: number for place, number in rest.items()}
        if self._is_seen_through(above, patterns):
            return {above + place: each for place, each in assigned.items()}, {"ignore": patterns}
        split = _SPLIT if all(split for split, _ in assigned.values()) else ""
        text = f"{literal('/'.join(above))}/{split}{_FIRST}"
        places = {above + place for place in assigned}
        return next(self._by_patterns([text], places, patterns), None)

    def _is_seen_through(self, above: Place, ignored: Sequence[str]) -> bool:
        """Whether the files below these folders are found without naming the folders."""
        named = above[:-1] if above and is_no_class(above[-1]) else above
        only = f"{self.only_folder(ignored)}/" if named else ""
        return not named or only.startswith("/".join(named) + "/")

    def _ignoring(self, place: Place) -> str:
        """Return the pattern that ignores a folder."""
        return glob.escape(joined(self.base, "/".join(place)))


def effect(
    at_least: str, kind: str, labels: Mapping[str | None, int], splits: Collection[str]
) -> str:
    """Return what a reading does: "read 4 images of 2 classes (cat, dog) in the split train".

    `labels` are numbers of files by class, None for none.
    """
    names = sorted(label for label in labels if label is not None)
    classes = f"of {count_classes(names)} ({first_names(names)})" if names else "without classes"
    if names and labels.get(None):
        classes += f", {labels[None]:,} of them without a class,"
    what = f"read {at_least}{counted(sum(labels.values()), NOUNS[kind])} {classes}"
    place = "splits" if len(splits) > 1 else "the split"
    return f"{what} in {place} {', '.join(sorted(splits))}" if splits else what.rstrip(",")


def _distinct(found: Iterable[_Found]) -> Sequence[_Found]:
    distinct: list[_Found] = []
    for each in found:
        if all(each[0] != assigned for assigned, _ in distinct):
            distinct.append(each)
        if len(distinct) == _MOST:
            break
    return distinct


def by_pattern(text: str, places: Iterable[Place], others: Iterable[Place] = ()) -> Assigned | None:
    """Return the splits and classes by a pattern of folders; None if it does not suit all places.

    A class must not have the name of a kind of file, of a split or of the folder above it.
    """
    pattern = parse_pattern(text)
    assigned: dict[Place, tuple[str | None, str | None]] = {}
    needed = {*places}
    for place in (*needed, *others):
        path = "/".join((*place, "_"))
        match = pattern.regex.fullmatch(path)
        if not match and place not in needed:
            continue
        if not match or (_LAST in text and len(place) == DEPTH):  # the last folder is not known
            return None
        values = dict(zip(pattern.names, match.groups(), strict=True))
        split, label = values.get("split"), values.get("label")
        if label is not None:
            above = path[: match.start(1 + pattern.names.index("label"))].rstrip("/")
            above = above.rpartition("/")[2]
            if label == above or not class_name(label) or is_no_class(label) or is_split(label):
                return None
        if split is not None and not is_split(split):
            return None
        assigned[place] = (split, None if label is None else class_name(label))
    labels = {label for _, label in assigned.values()}
    return assigned if len(labels - {None}) > 1 or labels == {None} else None


def _agreed(folders: Mapping[Place, int]) -> Assigned | None:
    """Return the splits and classes of folders whose levels agree, or splits without classes."""
    roles = Structure(folders=folders).roles()
    assigned = {place: roles.place(place) or ("", "") for place in levels(folders, roles)}
    labels = {label for _, label in assigned.values()}
    if labels == {None}:
        return assigned if roles.splits and not roles.has_loose_files else None
    are_classes = len(labels) > 1 and all(labels)
    are_classes &= bool(roles.splits) or not any(is_split(*place[:1]) for place in folders if place)
    is_sure = are_classes and not disagreement(folders, roles)
    return assigned if is_sure else None


def _root_of(group: Sequence[Place], groups: Mapping[int, Sequence[Place]]) -> Place:
    """Return the topmost folder with all folders of a group and no others; () if there is none."""
    others = [place for other in groups.values() if other is not group for place in other]
    first, last = min(group), max(group)
    common = [one for one, other in itertools.takewhile(_are_equal, zip(first, last, strict=False))]
    roots = (tuple(common[:depth]) for depth in range(1, len(common) + 1))
    return next((r for r in roots if all(place[: len(r)] != r for place in others)), ())


def _are_equal(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def _top_with_split(places: Iterable[Place]) -> str:
    """Return the pattern of first folders with a word for a split, such as "asl_{split}/"."""
    top = min((place[0] for place in places if place), default="")
    before, word, after = top.partition(split_word(top) or "/")
    return f"{literal(before)}{{split}}{literal(after)}/" if word else ""


def _with_split_words(top: str) -> Iterator[str]:
    """Yield patterns of classes in or below first folders of a pattern, unless it is a split's."""
    before, _, after = top.rstrip("/").partition("{split}")
    if not before and not after:
        return
    yield from (top + _FIRST, top + _LAST)
    if before.endswith(_BETWEEN):
        yield f"{{label}}{before[-1]}{{split}}/{_NO_CLASS}"
    if after:
        between = after[0] if after.startswith(_BETWEEN) else ""
        yield f"{{split}}{between}{{label}}/{_NO_CLASS}"


def question(folders: Folders, path: str, *, one_class: bool) -> Problem | None:
    """Return why the folders below `path` do not state the classes; None if they do."""
    roles = folders.structure.roles()
    places = folders.structure.folders
    tops = {place[0] for place in places if place}
    splits = sorted(filter(is_split, tops))
    if splits and not roles.splits:
        others = first_names(sorted(tops.difference(splits)))
        facts = {"path": path, "splits": first_names(splits), "others": others}
        return _answered_by(folders, "some folders are splits", facts)
    if (depth := roles.class_depth) is None:
        return None
    named = {place[depth] for place in places if len(place) > depth}
    classes = {name for name in named if not is_no_class(name)}
    if not classes:
        facts = {"path": path, "names": first_names(sorted(named))}
        readings = folders.without_classes()
        return Problem(code="no class folders", facts=facts, readings=readings)
    if problem := _blanks(path, classes):
        return problem
    is_one = len(classes) == 1
    # The folders below the only one may be classes, which the claim on that folder decides.
    is_left = is_one and (one_class or len(tops) == 1)
    if not is_left and (why := disagreement(places, roles)):
        return _answered_by(folders, "levels disagree", {"path": path, "why": why})
    if is_one and not one_class:
        facts = {"path": path, "name": min(classes)}
        readings = folders.of_one_class(min(classes))
        option = "" if readings else "one_class"
        return Problem(code="one class", facts=facts, option=option, readings=readings)
    return None


def _answered_by(folders: Folders, code: str, facts: Mapping[str, str]) -> Problem:
    """Return the question that asks for one of the readings."""
    readings = folders.readings()
    option = "" if readings else "path_pattern"
    return Problem(code=code, facts=facts, option=option, readings=readings)


def _blanks(path: str, names: Set[str]) -> Problem | None:
    """Refuse folders whose class has no name, or the name of another folder's."""
    names = set(map(composed, names))
    classes: dict[str, str] = {}
    for folder in sorted(name for name in names if name != class_name(name)):
        facts = {"path": path, "folder": folder, "quoted": shlex.quote(folder)}
        same = class_name(folder)
        if not same:
            return Problem(code="blank class", facts=facts)
        one = same if same in names else classes.setdefault(same, folder)
        if one != folder:
            return Problem(code="classes differ in blanks", facts=facts | {"one": one})
    return None
