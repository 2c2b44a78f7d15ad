"""Questions about folders: whether they are classes, and which of them."""

import shlex
from collections.abc import Mapping, Set

from beam_pipeline.kinds.wording import first_names
from beam_pipeline.problems import Problem
from beam_pipeline.sources.folders.levels import disagreement
from beam_pipeline.sources.folders.readings import Folders
from beam_pipeline.sources.folders.structure import is_no_class
from beam_pipeline.sources.tables.types import class_name
from tfrecord_dataset.format.split_names import is_split


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
