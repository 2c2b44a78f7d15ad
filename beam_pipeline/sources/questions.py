"""Questions about files that a claim would leave out although they pair with the files it reads."""

from collections import defaultdict
from collections.abc import Iterator

from beam_pipeline.problems import Problem, files_to_ignore
from beam_pipeline.sources.layout import Claim
from beam_pipeline.sources.masks.twins import masks_problem, twins_problem
from beam_pipeline.sources.paths import name_of, stem, suffix
from beam_pipeline.sources.tree import Tree
from beam_pipeline.sources.unread import may_hold_data
from tfrecord_dataset.shown_text import counted

# If kinds have equally many files, the first one is read.
_NOUNS = {"image": "images", "audio": "recordings", "array": "arrays"}


def open_question(tree: Tree, claim: Claim) -> Problem | None:
    """Return the question that files next to those of a claim raise; None if there is none."""
    if claim.layout == "folders" and (problem := twins_problem(tree) or masks_problem(tree)):
        return problem
    return _side_files_problem(tree, claim)


def _side_files_problem(tree: Tree, claim: Claim) -> Problem | None:
    """Ask whether to leave out files that have the names of most images, or of most recordings."""
    kind = max(_NOUNS, key=lambda kind: len(tree.files_of(kind)))
    media = tree.files_of(kind)
    names = set(map(stem, media))
    paired: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in {*tree.files_of("", "array")}.difference(media, claim.reads):
        if suffix(path) not in claim.side_suffixes and may_hold_data(path):
            for name, ending in _divided(name_of(path)):
                if name in names:
                    paired[ending].append((name, path))
    most = {end: each for end, each in paired.items() if len(dict(each)) * 2 > len(names)}
    if not most:
        return None
    paths = [path for each in most.values() for _, path in each]
    facts = {
        "path": tree.input,
        "number": tree.at_least + counted(len(paths), "file"),
        "media": _NOUNS[kind],
        "first": min(paths),
        "layout": claim.layout,
    }
    leave_out = files_to_ignore([f"*.{ending}" for ending in sorted(most)])
    return Problem(code="side files", facts=facts, readings=(leave_out,))


def _divided(name: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to divide a file's name at a dot: "a" and "gt.txt", "a.gt" and "txt"."""
    return ((name[:at], name[at + 1 :]) for at in range(1, len(name)) if name[at] == ".")
