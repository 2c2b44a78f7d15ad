"""What the names of files say where folders leave it in doubt, and the patterns that read it."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from beam_pipeline.kinds.wording import first_names
from beam_pipeline.sources.folders.pattern import PathPattern, has_features, parse_pattern
from beam_pipeline.sources.folders.profile import Profile
from beam_pipeline.sources.paths import stem
from beam_pipeline.sources.tree import places
from tfrecord_dataset.split_names import is_split

_MOST_IGNORED = 3
_MOST_WORDS = 16


def ways(profile: Profile, *ways: tuple[str, str]) -> str:
    """ "; where all are classes, pass --path-pattern …" for each pattern that fits the files."""
    said = []
    for when, text in ways:
        pattern = parse_pattern(text)
        paths = profile.names.all_paths
        found = [texts for path in paths if (texts := pattern.match(path)) is not None]
        if len(found) * 2 < len(paths) or _is_no_label(pattern.names, found):
            continue
        options = f"--path-pattern '{text}'"
        if profile.beside.number and not has_features(pattern):
            options += f" {profile.beside.ignoring()}"
        options += "".join(f" --ignore {shlex.quote(each)}" for each in _unfitting(pattern, paths))
        said.append(f"{when}, pass {options}")
    return "".join(f"; {each}" for each in said)


def _unfitting(pattern: PathPattern, paths: Sequence[str]) -> list[str]:
    """The first folders of which no file fits a pattern that other folders' do, if they are few."""
    tops = {path.partition("/")[0] for path in paths if "/" in path}
    left = tops - {path.partition("/")[0] for path in paths if pattern.match(path) is not None}
    return sorted(left) if len(left) < len(tops) and len(left) <= _MOST_IGNORED else []


def _is_no_label(names: Sequence[str], found: Sequence[Sequence[str]]) -> bool:
    """Whether what a pattern finds as label is the same in all files, or splits alone."""
    if "label" not in names:
        return False
    labels = {texts[names.index("label")] for texts in found}
    return len(labels) < 2 or all(map(is_split, labels))


def by_names(profile: Profile, folders: str = "{split}/") -> str:
    """How labels are taken from train/cat.0.jpg; "" where names have none.

    Where they begin with a number or nothing of the kind, words between others may be the label.

    Args:
        profile: Of the files.
        folders: What a pattern has for their folders.
    """
    for mark in "._-":
        text = f"{folders}{{label}}{mark}{{_}}"
        pattern = parse_pattern(text)
        labels = [texts[-1] for path in profile.names.all_paths if (texts := pattern.match(path))]
        are_numbers = all(map(str.isdigit, labels))
        fewest = 2 if are_numbers else 1  # files of a class, on average
        if len(set(labels)) > 1 and len(set(labels)) * fewest < len(labels):
            way = ("where names begin with their class", text)
            return ways(profile, way, *(_by_words(profile, folders) if are_numbers else ()))
    return ways(profile, *_by_words(profile, folders))


def _by_words(profile: Profile, folders: str) -> Iterator[tuple[str, str]]:
    """Of names such as 1001_DFA_ANG_XX each place with a few words."""
    for mark in "_-":
        parts = [stem(path).split(mark) for path in profile.names.all_paths]
        columns = [*zip(*parts, strict=False)] if len({*map(len, parts)}) == 1 else []
        for at, words in enumerate(columns[1:], 1):
            of_all = sorted({*words})
            if 1 < len(of_all) <= min(_MOST_WORDS, len(words) // 2) and all(
                map(str.isalpha, words)
            ):
                around = ["{_}"] * len(columns)
                around[at] = "{label}"
                yield f"where {first_names(of_all)} are the classes", folders + mark.join(around)


def of_speakers(profile: Profile) -> str:
    """That folders are numbers, and that names begin with the same few texts in several of them.

    AudioMNIST has `01/7_01_42.wav`: a digit, who speaks it, and which time.
    """
    classes = sorted(profile.classes)
    if not classes[1:] or not all(map(str.isdigit, classes)):
        return ""
    split = "{split}/" * profile.in_splits
    for mark in "._-":
        pattern = parse_pattern(f"{split}{{folder}}/{{label}}{mark}{{_}}")
        found = [pattern.match(path) for path in profile.names.all_paths]
        pairs = [texts[-2:] for texts in found if texts]
        labels = Counter(label for _, label in set(pairs))  # in how many folders each is
        if len(pairs) == len(found) >= 2 * len(labels) > 2 and min(labels.values()) > 1:
            told = ways(
                profile,
                ("where these are the classes", f"{split}{{_}}/{{label}}{mark}{{_}}"),
                ("where the folders are", f"{split}{{label}}/{{_}}"),
            )
            return (
                f"{places(classes)} are numbers, in several of which names begin with the same "
                f"{len(labels)} texts, such as {min(labels)!r}{told}"
            )
    return ""
