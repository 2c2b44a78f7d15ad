"""Images that differ only in their suffix: maps next to photographs, or two versions of each."""

import contextlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.header import DECODER_MAX_PIXELS
from beam_pipeline.media.maps import MapSample, sample_map
from beam_pipeline.problems import Problem, Reading
from beam_pipeline.records import FileRef
from beam_pipeline.sources.folders.readings import Folders
from beam_pipeline.sources.folders.structure import main_structure, structures
from beam_pipeline.sources.masks.meaning import MOST_MAP_BYTES, is_map
from beam_pipeline.sources.masks.names import CLASSES, is_marked, role_of, unmarked
from beam_pipeline.sources.paths import folder, name_of, shared_name
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.shown_text import counted

_LOOKED_INTO = 16


class Twins(NamedTuple):
    """Pairs of images.

    Attributes:
        suffixes: The two suffixes, as they are written.
        places: The paths of the pairs without their suffixes, sorted.
    """

    suffixes: tuple[str, str]
    places: Sequence[str]

    def sampled(self, suffix: str) -> list[str]:
        """Return the paths of a few images with this suffix."""
        step = max(1, len(self.places) // _LOOKED_INTO)
        return [f"{place}.{suffix}" for place in self.places[::step][:_LOOKED_INTO]]


def twins_of(tree: Tree) -> Twins | None:
    """Return the pairs of images that differ only in their suffix, if most images are in one."""
    suffixes: defaultdict[str, list[str]] = defaultdict(list)
    for path in tree.files_of("image"):
        place, _, suffix = path.rpartition(".")
        suffixes[place].append(suffix)
    pairs = Counter(
        pair for each in suffixes.values() for pair in itertools.combinations(sorted(each), 2)
    )
    (one, other), number = max(pairs.items(), key=lambda item: item[1], default=(("", ""), 0))
    if number * 2 <= len(suffixes):
        return None
    places = (place for place, each in suffixes.items() if {one, other} <= {*each})
    return Twins((one, other), sorted(places))


def map_suffix(tree: Tree, twins: Twins) -> str:
    """Return the suffix whose images are maps; "" unless only those of one suffix are."""
    found = [suffix for suffix in twins.suffixes if _are_maps(tree, twins.sampled(suffix))]
    return found[0] if len(found) == 1 else ""


def twins_problem(tree: Tree) -> Problem | None:
    """Ask how to read images that differ only in their suffix; None if few do."""
    if not (twins := twins_of(tree)):
        return None
    shown = map_suffix(tree, twins)
    one, other = (shown, *{*twins.suffixes} - {shown}) if shown else twins.suffixes
    readings = [Reading({"layout": ("masks",)}, f"read .{one} as masks")] if shown else []
    readings.append(Reading({"ignore": (f"*.{one}",)}, f"keep .{other}"))
    if not shown:
        readings.append(Reading({"ignore": (f"*.{other}",)}, f"keep .{one}"))
    readings.append(Reading({"layout": ("folders",)}, "read all images"))
    pairs = tree.at_least + counted(len(twins.places), "pair") + " of images"
    facts = {"path": tree.input, "pairs": pairs, "one": other, "other": one}
    return Problem(code="twin images", facts=facts, readings=tuple(readings))


def masks_problem(tree: Tree) -> Problem | None:
    """Ask whether images named like others and a mask are a class; None if most have none."""
    tree = tree.inside(tree.only_folder) if tree.only_folder else tree
    images = tree.files_of("image")
    masks = {path for path in images if _is_mask(path)}
    names = {shared_name(path) for path in images if path not in masks}
    of_images = sorted(path for path in masks if unmarked(shared_name(path)) in names)
    if len(of_images) * 2 <= len(names) or not names:
        return None
    homes = sorted({name_of(folder(path)) for path in of_images})
    structure = main_structure(structures(tree.names()))
    folders = Folders(structure=structure, base=tree.ignored.base, at_least=tree.at_least)
    facts = {"path": tree.input, "folders": ", ".join(homes), "first": of_images[0]}
    return Problem(code="masks of images", facts=facts, readings=folders.of_masks(homes))


def _is_mask(path: str) -> bool:
    """Return whether the names of a file and of its folder are those of a mask."""
    return role_of(folder(path)).shows == CLASSES and is_marked(path, CLASSES)


def samples(tree: Tree, paths: Sequence[str]) -> Iterator[MapSample]:
    """Yield the samples of those images that can be decoded."""
    for path in paths:
        with contextlib.suppress(RecordError):  # rejected by name later
            data = storage.read_bytes(FileRef(path=tree.path(path)), MOST_MAP_BYTES)
            yield sample_map(data, DECODER_MAX_PIXELS)


def _are_maps(tree: Tree, paths: Sequence[str]) -> bool:
    seen = [*samples(tree, paths)]
    return bool(seen) and sum(is_map(each, CLASSES) for each in seen) * 2 > len(seen)
