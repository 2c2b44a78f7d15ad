"""Files that a table names as they lie on another machine: by what their paths end with, here."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.first_rows import Seen, is_there, texts_of
from beam_pipeline.sources.manifest.table import Table
from beam_pipeline.sources.paths import below, media_kind, suffix
from beam_pipeline.sources.tree import Tree

_SHARE = 0.9  # of the files that the first rows name


def found_here(seen: Seen, tree: Tree, tell: Callable[[str], None]) -> list[Table]:
    """Tables with where their files are, of which they name none that is there; none without such.

    Those of the same last parts, in one folder of the tree, perhaps with another suffix.

    Args:
        seen: The tables.
        tree: Where files are looked for.
        tell: Is told what is found.
    """
    tables, is_found = [], False
    for table in seen.tables if not seen.tables[0].is_typed else ():
        texts = texts_of(seen.rows_of(table))
        manifest = table.manifest
        for column in seen.facts.media:
            if likely := _elsewhere(manifest, texts.get(column, ()), tree):
                manifest, is_found = likely, True
                tell(_told(column, manifest, tree))
                break
        tables.append(replace(table, manifest=manifest))
    return tables if is_found else []


def _told(column: str, manifest: Manifest, tree: Tree) -> str:
    home = f"{manifest.folder}/".removeprefix(f"{tree.root}/") or "the input"
    behind = f", by what follows {manifest.before}" if manifest.before else ""
    ending = f", with .{manifest.ending} for their suffix" if manifest.ending else ""
    return (
        f"column {column!r} of {manifest.relative} names no file that is there: those of the same "
        f"last parts in {home} are read{behind}{ending}; if they are others, pass --image-root"
    )


def _elsewhere(manifest: Manifest, values: Sequence[str], tree: Tree) -> Manifest | None:
    """The manifest with where its files lie; None where they lie nowhere, or in several places."""
    names = [value.replace("\\", "/") for value in values]
    homes = [place for place, names in tree.names() if any(map(media_kind, names))]
    endings = sorted({suffix(each) for each in tree.files() if media_kind(each)})
    for before in _beginnings(names):
        rests = [name.removeprefix(before) for name in names]
        # Bare names may be those of other files, such as of masks, in one of several folders.
        others = (
            homes if not homes[1:] else tree.walked if all("/" in each for each in rests) else ()
        )
        for ending in ["", *endings] if before else endings:
            found = [
                likely
                for folder in dict.fromkeys([manifest.folder, *map(tree.path, others)])
                for likely in [replace(manifest, folder=folder, before=before, ending=ending)]
                if _has_most(likely, names)
            ]
            if found:
                return found[0] if len(found) == 1 else None
    return None


def _beginnings(names: Sequence[str]) -> Iterator[str]:
    """What all paths begin with, from nothing to all of their folders in common."""
    folders = [name.split("/")[:-1] for name in names]
    common = 0
    while folders and all(len(each) > common for each in folders):
        if len({each[common] for each in folders}) > 1:
            break
        common += 1
    for number in range(common + 1):
        yield "".join(f"{part}/" for part in folders[0][:number]) if folders else ""


def _has_most(manifest: Manifest, names: Sequence[str]) -> bool:
    """Whether files of most names are there, of which the first is looked for before the others."""
    rests = [manifest.as_here(name) for name in names]
    if not rests or any(rest.startswith("/") or "://" in rest or ":/" in rest for rest in rests):
        return False
    paths = [below(manifest.folder, rest) for rest in rests]
    return is_there(paths[0]) and sum(map(is_there, paths)) >= _SHARE * len(paths)
