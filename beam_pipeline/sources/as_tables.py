"""Tables of files that no layout reads: the command that makes one, and its rows."""

import itertools
import operator
import re
import shlex
from collections.abc import Container, Iterator, Sequence

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources import text_forms
from beam_pipeline.sources.paths import folder, joined, media_kind, stem, suffix
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.table_forms import FORMS, OF_IMAGENET, OF_MASKS, Form, form_of
from beam_pipeline.sources.table_rows import Files, Row, read_json
from beam_pipeline.sources.tree import Tree

_LOOKED_INTO = 20
_SHARE = 0.8  # of the files of pairs; one of a pair may be missing
_WORDS = re.compile(r"\d+|[^\W\d_]+")
_ENDINGS = (
    *("json", "jsonl", "ndjson", "geojson", "manifest"),
    *("csv", "tsv", "txt", "labels", "pts", "xml"),
)


def as_table(tree: Tree) -> str:
    """The command that makes a table of what lies beside the files of a tree; "" without one."""
    paths = [
        path
        for path in (*tree.outside, *tree.files())
        if suffix(path) in _ENDINGS or name_of(path) == "text"
    ]
    for path in paths[:_LOOKED_INTO]:
        if form := form_of(FORMS, tree.root, path, tree.files()):
            made = making(tree.path(form.table), tree.root, tree.path(path))
            return f"{name_of(path)} {form.what}: make a table of it by {made}, and give that"
    return ""


def making(table: str, root: str, *names: str) -> str:
    """The command that makes a table of what `rows_of` takes."""
    words = ["python", "-m", "beam_pipeline", "table", root, *names]
    return f"{shlex.join(words)} > {shlex.quote(table)}"


def rows_of(root: str, names: Sequence[str]) -> tuple[Iterator[Row], bool]:
    """The rows of the table that a message names, and whether each value is one cell of CSV.

    Args:
        root: The folder of the images or audio.
        names: The path of a file of a known form, or the names of folders that show the same, or
            of the files of one thing in a folder, where {} stands for the folder's.

    Raises:
        ConfigError: No table is made of these.
    """
    files = Files(root)
    if len(names) > 1 and media_kind(names[0]):
        return _of_things(files, names), False
    if len(names) > 1:
        return iter(of_views(files, names)), True
    [path] = names
    if form := _form_of(files, path):
        return _checked(form.rows(files, path), path), suffix(form.table) == "csv"
    raise ConfigError(
        f"{path} is of no form of which a table is made (docs/layouts.md); write one yourself, "
        "with a row per file (docs/manifests.md)"
    )


def _form_of(files: Files, path: str) -> Form | None:
    if OF_IMAGENET.is_called.fullmatch(name_of(path)):
        return OF_IMAGENET
    if any(files.path(each).startswith(f"{path}/") for each in files.paths):
        return OF_MASKS
    relative = path.removeprefix(f"{files.root}/")
    return form_of((*FORMS, *text_forms.FORMS), files.root, relative, files.paths)


def _checked(rows: Iterator[Row], path: str) -> Iterator[Row]:
    try:
        yield from rows
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        SyntaxError,
        TypeError,
        ValueError,
    ) as error:
        raise ConfigError(
            f"{path} is not as other files of its form are: {error!r}; write a table with a row "
            "per file (docs/manifests.md)"
        ) from error


def of_views(files: Files, views: Sequence[str]) -> list[Row]:
    """A row for each thing of which several folders have views; none where no names pair.

    Its files have one name, in which the view's may stand, too; or the numbers of one begin with
    those of the other: hazy/1_2_0.9.jpg and clear/1.png.
    """
    media = filter(media_kind, files.paths)
    of_names = filter(None, (_in_views(path, views, files.there) for path in media))
    paired = [*of_names] or _by_numbers(files, views)
    return [dict(zip((media_kind(paths[0]), *views[1:]), paths, strict=True)) for paths in paired]


def _in_views(path: str, views: Sequence[str], there: Container[str]) -> list[str]:
    """A path in the first of several folders of views, and those of its like in the others."""
    first = re.compile(f"(?<![A-Za-z0-9]){re.escape(views[0])}(?![A-Za-z0-9])")
    home, name = folder(path), name_of(path)

    def like(view: str) -> str:
        view = view.replace("\\", r"\\")
        paths = (first.sub(view, path), joined(first.sub(view, home), name))
        return next((each for each in paths if each in there), "")

    paths = [*map(like, views)]
    return paths if all(paths) and len({*paths}) == len(views) else []


def _by_numbers(files: Files, views: Sequence[str]) -> list[list[str]]:
    """Most paths of two views in pairs, by what differs from name to name in each folder."""
    homes: dict[str, dict[str, list[str]]] = {}
    for path in filter(media_kind, files.paths):
        parts = folder(path).split("/")
        if view := next((view for view in views if view in parts), ""):
            home = "/".join(parts[: parts.index(view)])
            homes.setdefault(home, {view: [] for view in views})[view].append(path)
    found = []
    for each in homes.values() if len(views) == 2 else ():
        one, other = map(_numbered, each.values())
        of_one = len(one) >= len(other)
        many, few = (one, other) if of_one else (other, one)
        for key, path in many.items():
            starts = (key[:end] for end in range(len(key), 0, -1))
            if like := next((few[start] for start in starts if start in few), ""):
                found.append([path, like] if of_one else [like, path])
    number = sum(len(paths) for each in homes.values() for paths in each.values())
    return found if len({*itertools.chain(*found)}) >= _SHARE * number else []


def _numbered(paths: Sequence[str]) -> dict[tuple[str, ...], str]:
    """Paths by the words and numbers of their names, without those that all have at one place."""
    words = [_WORDS.findall(stem(path)) for path in paths]
    in_all = [len({*each}) == 1 for each in zip(*words, strict=False)]
    found: dict[tuple[str, ...], str] = {}
    for path, of_path in zip(paths, words, strict=True):
        first = itertools.compress(of_path, map(operator.not_, in_all))
        found[*(each.lstrip("0") for each in (*first, *of_path[len(in_all) :]))] = path
    return found


def _of_things(files: Files, names: Sequence[str]) -> Iterator[Row]:
    """A row for each folder that has all files, with what a JSON file in it says."""
    columns = [media_kind(names[0]), *(stem(each).strip("{}_-. ") for each in names[1:])]
    told = {folder(path): path for path in files.paths if suffix(path) == "json"}
    for home in sorted(set(map(folder, files.paths))):
        paths = [joined(home, each.replace("{}", name_of(home))) for each in names]
        if files.there.issuperset(paths):
            said = read_json(files.path(told[home])) if home in told else {}
            simple = {k: v for k, v in said.items() if isinstance(v, str | int | float | list)}
            yield {**dict(zip(columns, paths, strict=True)), **simple}
