"""Find the best claim on the configured input, and make the transform that reads it."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, MostlyBadError
from beam_pipeline.files import storage
from beam_pipeline.files.archive.member_paths import inside
from beam_pipeline.option_values import AUTO
from beam_pipeline.problems import Problem, ProblemError, Reading, either
from beam_pipeline.recipe import is_recipe
from beam_pipeline.sources.archives import placed, reading_through_archives, refuse_archives
from beam_pipeline.sources.file_index import FileIndex
from beam_pipeline.sources.folders.read_folders import ReadClassFolders
from beam_pipeline.sources.layout import Claim, Layout, Rank
from beam_pipeline.sources.paths import input_folder, parent
from beam_pipeline.sources.questions import open_question
from beam_pipeline.sources.registry import OWN, layout_named, layouts
from beam_pipeline.sources.splits import SplitList, WithSplits
from beam_pipeline.sources.tables.table_layouts import texts_of_rows
from beam_pipeline.sources.tree import Ignored, Tree, shown
from beam_pipeline.sources.unpacking import in_packed_tar
from beam_pipeline.sources.unread import AccountForFiles, format_problem
from tfrecord_dataset.options import all_options
from tfrecord_dataset.shown_text import counted

# A question has a few answers.
_MOST_READINGS = 3


def find_input(config: BuildConfig, scratch: str = "") -> Claim:
    """Claim the configured input with the named layout or the detected one.

    A compressed tar is unpacked into `scratch`; "" refuses it.

    Raises:
        ConfigError: The input is missing, or neither the named layout nor any other reads it.
    """
    FileIndex.forget()
    if config.layout != AUTO:
        _check_options(config, layout_named(config.layout))
    if not config.input:
        raise ConfigError("an input is needed: a folder, an annotation file or a manifest")
    if is_recipe(config.input):
        raise ConfigError(
            f"the input {config.input} is a recipe, not data; name it in the command itself, or "
            "load it with beam_pipeline.recipe.load"
        )
    _check_allowed(config)
    with reading_through_archives(config, scratch) as config:
        claim = detect(config)
        _check_options(config, layout_named(claim.layout))
        _check_ignored(config)
    return claim


def _check_allowed(config: BuildConfig) -> None:
    for folder in config.allow_outside:
        if not storage.is_remote(folder) and not storage.exists(folder):
            raise ConfigError(
                f"--allow-outside {folder} does not exist; give the folder of the files that the "
                "annotations name"
            )


def _check_ignored(config: BuildConfig) -> None:
    """Raise ConfigError for a pattern of `--ignore` that matches nothing, such as a typo."""
    if not config.ignore or not storage.is_directory(config.input):
        return
    tree = Tree(config.input)
    paths = {*tree.files(), *tree.walked} - {""}
    for pattern in config.ignore:
        if tree.is_known and not any(map(Ignored((pattern,)), paths)):
            raise ConfigError(
                f"--ignore {pattern!r} fits no file or folder below {config.input} (it holds "
                f"{tree.look()}); give a name, a path below the input, or a pattern of * and ?"
            )


def _check_options(config: BuildConfig, layout: Layout) -> None:
    if layout.takes is None:
        return
    for field in dataclasses.fields(config):
        option, value = field.name, getattr(config, field.name)
        takers = [each.name for each in OWN.values() if option in (each.takes or ())]
        if takers and option not in layout.takes and value not in (field.default, ()):
            few = ", ".join(takers[:3]) + (", …" if takers[3:] else "")
            raise ConfigError(
                f"{all_options(BuildConfig)[option].label} is for {few}, and the "
                f"input is read as {layout.name}; leave it out, or set layout (--layout)"
            )


def detect(config: BuildConfig) -> Claim:
    """Return the best claim on the configured input.

    If the input has a single folder, as many unpacked archives do, its content may be claimed.

    Raises:
        ConfigError: The input does not exist, `--layout` does not fit it, or no layout reads it.
        ProblemError: The best claims tie, or the best one has an open question.
    """
    tree = Tree.of(_existing(config.input), Ignored(config.ignore))
    if config.path_pattern:
        candidates = [layout_named("folders")]
    elif config.layout == AUTO:
        candidates = [*layouts().values()]
    else:
        candidates = [layout_named(config.layout)]
    claims = _claims(candidates, tree, config)
    if not claims:
        _refuse(tree, config, candidates)
    best = max(claim.rank for claim in claims)
    claims = [claim for claim in claims if claim.rank == best]
    if len(claims) > 1:
        raise ProblemError(_tie(config.input, claims))
    [claim] = claims
    if isinstance(claim.problem, ConfigError):
        raise claim.problem
    if claim.problem:
        raise ProblemError(claim.problem, {"layout": claim.layout, **claim.options})
    is_open = config.layout == AUTO and not config.path_pattern
    if is_open and (problem := open_question(tree, claim)):
        raise ProblemError(problem)
    return claim


def _claims(candidates: Sequence[Layout], tree: Tree, config: BuildConfig) -> list[Claim]:
    claims = [claim for layout in candidates if (claim := layout.claim(tree, config))]
    best = max((claim.rank for claim in claims), default=Rank.FOLDERS)
    is_sure = best > Rank.CONTAINER or any("split_list" in claim.options for claim in claims)
    is_sure |= bool(config.path_pattern) or not tree.is_folder  # patterns are of whole paths
    if is_sure or not (inner := tree.only_folder):
        return claims
    below = _claims(candidates, tree.inside(inner), config)
    if best == Rank.FOLDERS:
        return below or claims
    claims = [claim for claim in claims if claim.rank == best]
    known = {claim.layout for claim in claims}
    return [*claims, *(claim for claim in below if claim.layout not in known)]


@contextlib.contextmanager
def naming_other_layouts(config: BuildConfig) -> Iterator[None]:
    """Add the layouts that read the input in another way to an error of mostly bad records.

    `config.layout` is the layout that reads it; "auto" if a source of the user's own does.
    """
    try:
        yield
    except MostlyBadError as error:
        others = tuple(_other_readings(config)) if config.layout != AUTO else ()
        if not others:
            raise
        raise MostlyBadError(f"{error}, or {either(others)}") from error


def _other_readings(config: BuildConfig) -> Iterator[Reading]:
    """Yield the layouts that claim the input without a question, most specific first."""
    if in_packed_tar(config.input):
        return
    others = [each for each in layouts().values() if each.name != config.layout]
    tree = Tree.of(_existing(config.input), Ignored(config.ignore))
    claims = _claims(others, tree, dataclasses.replace(config, layout=AUTO))
    for each in sorted(claims, key=lambda claim: -claim.rank)[:_MOST_READINGS]:
        if not each.problem:
            what = ", ".join(text for _, text in each.understood[:2])
            yield Reading({"layout": (each.layout,)}, f"read {what}")


def _existing(path: str) -> str:
    absolute = storage.absolute(path).rstrip("/") or "/"
    is_there = storage.exists(absolute) or storage.is_directory(absolute)
    if not is_there and not (set("*?[") & set(absolute) and storage.match_files(absolute)):
        raise ProblemError(Problem(code="no such input", facts={"path": absolute}))
    return absolute


def _tie(path: str, claims: Sequence[Claim]) -> Problem:
    ways = [f"{each.layout} ({each.what})" for each in claims]
    names = tuple(claim.layout for claim in claims)
    facts = {"path": path, "number": len(claims), "ways": "; ".join(ways)}
    return Problem(code="ambiguous", facts=facts, option="layout", choices=names)


def _refuse(tree: Tree, config: BuildConfig, candidates: Sequence[Layout]) -> None:
    files = tree.files()
    if not files:
        raise ProblemError(Problem(code="no file", facts={"path": tree.input}))
    refuse_archives(tree.root, files)
    if problem := format_problem(files):
        raise ProblemError(problem)
    is_auto = config.layout == AUTO
    if is_auto and (rows := texts_of_rows(tree)):
        facts = {"path": config.input, "first": rows[0]}
        raise ProblemError(
            Problem(code="rows of text", facts=facts, option="layout", choices=("csv",))
        )
    if tree.is_file:
        raise ProblemError(_single_file(tree, config))
    top = tree.look()
    number = f"{tree.at_least}{counted(len(files), 'file')}"
    inside = f"{shown(top.folders, 'folder')} with {number} such as {files[0]}"
    facts = {"path": config.input, "held": str(top) if top.files else inside}
    facts |= {"layout": config.layout, "sign": candidates[0].sign}
    if is_auto:
        raise ProblemError(Problem(code="unknown layout", facts=facts, option="layout"))
    others = _claims([*layouts().values()], tree, dataclasses.replace(config, layout=AUTO))
    if not others:
        raise ProblemError(Problem(code="layout does not fit", facts=facts))
    names = tuple(claim.layout for claim in others)
    problem = Problem(code="another layout", facts=facts, option="layout", choices=names)
    raise ProblemError(problem)


def _single_file(tree: Tree, config: BuildConfig) -> Problem:
    """Refuse a file that the layout does not read, and name the layout that does."""
    facts = {"path": tree.input, "reader": "no layout reads"}
    if config.layout == AUTO:
        return Problem(code="single file", facts=facts)
    facts["reader"] = f"the layout {config.layout} does not read"
    claims = _claims([*layouts().values()], tree, dataclasses.replace(config, layout=AUTO))
    if not claims:
        return Problem(code="single file", facts=facts)
    facts["other"] = max(claims, key=lambda claim: claim.rank).layout
    return Problem(code="file of another layout", facts=facts)


def complete(config: BuildConfig, claim: Claim) -> BuildConfig:
    """Add the layout and the options of the claim that the user has not set."""
    decided = {
        field.name: claim.options[field.name]
        for field in dataclasses.fields(config)
        # The user's schema is completed with the keys of records.
        if field.name in claim.options
        and (getattr(config, field.name) in (field.default, ()) or field.name == "schema")
    }
    return dataclasses.replace(config, layout=claim.layout, **decided)


def source_of(config: BuildConfig, claim: Claim, scratch: str) -> beam.PTransform:
    """Make the transform that reads the configured input.

    Compressed inputs that must be plain files are unpacked into the folder `scratch`; members of
    archives are read in place.
    """
    with reading_through_archives(config, scratch) as config:
        return _source(config, claim, scratch)


def _source(config: BuildConfig, claim: Claim, scratch: str) -> beam.PTransform:
    reader: beam.PTransform = layout_named(claim.layout).read(claim, config, scratch)
    source = reader
    named = config.split_list or claim.options.get("split_list", ())
    is_whole = claim.path == config.input and not named and isinstance(source, ReadClassFolders)
    if is_whole:
        source.is_whole = True
    if named:
        top = _folder_of(config.input)
        roots = dict.fromkeys(filter(None, (_folder_of(claim.path), top, config.image_root)))
        split_lists = [SplitList.parse(each, top) for each in named]
        source = WithSplits(source, split_lists, tuple(roots))
    if storage.is_directory(config.input) and not is_whole:
        root, base = input_folder(config.input), _folder_of(claim.path)
        reads = tuple(storage.join(base, path) for path in claim.reads)
        source = AccountForFiles(source, root, base, reads, Ignored(config.ignore), reader)
    return ReadPlaced(source) if any(map(inside, config.inputs)) else source


def _folder_of(path: str) -> str:
    return path if storage.is_directory(path) else parent(path)


@dataclasses.dataclass
class ReadPlaced(beam.PTransform):
    """Add the locations of files in archives to the elements of a source."""

    source: beam.PTransform

    @no_annotations  # Beam allows only PCollections in hints
    def expand(self, pipeline: beam.pvalue.PBegin) -> Any:
        found = pipeline | "Source" >> self.source  # Element, and possibly Rejected
        elements, *unread = found if isinstance(found, tuple) else (found,)
        in_place = elements | "PlaceMembers" >> beam.Map(placed)  # Element
        return (in_place, *unread) if unread else in_place
