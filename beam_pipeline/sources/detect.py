"""Detect the layout of an input: the only best claim of all layouts."""

import dataclasses
import shlex
from collections.abc import Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.layout_names import AUTO
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.sources.archives import refuse_archives
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.layout import Claim, Layout, Rank
from beam_pipeline.sources.registry import layout_named, layouts
from beam_pipeline.sources.tree import Tree, shown
from beam_pipeline.sources.unread import format_problem
from tfrecord_dataset.shown_text import counted


def detect(config: BuildConfig) -> Claim:
    """Return the only best claim of the configured input.

    If the input has a single folder, as many unpacked archives do, its content may be claimed.

    Raises:
        ConfigError: There is no such input, `--layout` does not fit it, or no layout is known.
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


def _existing(path: str) -> str:
    absolute = storage.absolute(path).rstrip("/") or "/"
    is_there = storage.exists(absolute) or storage.is_directory(absolute)
    if not is_there and not (set("*?[") & set(absolute) and storage.match_files(absolute)):
        raise ProblemError(Problem(code="no such input", facts={"path": absolute}))
    return absolute


def _tie(path: str, claims: Sequence[Claim]) -> Problem:
    ways = [
        f"{each.layout} ({each.understood[0][1] if each.understood else each.path})"
        for each in claims
    ]
    names = tuple(dict.fromkeys(claim.layout for claim in claims))
    facts = {"path": path, "number": len(claims), "ways": "; ".join(ways)}
    if len(names) > 1:
        return Problem(code="ambiguous", facts=facts, option="layout", choices=names)
    paths = tuple(shlex.quote(claim.path) for claim in claims)
    return Problem(code="ambiguous", facts=facts, option="input", choices=paths)


def _refuse(tree: Tree, config: BuildConfig, candidates: Sequence[Layout]) -> None:
    """Raise ConfigError for a tree that no layout claims."""
    files = tree.files()
    if not files:
        raise ProblemError(Problem(code="no file", facts={"path": tree.input}))
    refuse_archives(tree.root, files)
    if problem := format_problem(files):
        raise ProblemError(problem)
    if tree.is_file:
        raise ProblemError(_single_file(tree, config))
    facts: dict[str, object] = {"path": config.input, "held": _held(tree, files)}
    if config.layout == AUTO:
        raise ProblemError(Problem(code="unknown layout", facts=facts, option="layout"))
    facts |= {"layout": config.layout, "sign": candidates[0].sign}
    raise ProblemError(Problem(code="layout does not fit", facts=facts, option="layout"))


def _single_file(tree: Tree, config: BuildConfig) -> Problem:
    """The refusal of a file that the layout does not read, or that none does."""
    facts = {"path": tree.input, "layout": config.layout, "reader": "no layout reads"}
    if config.layout == AUTO:
        return Problem(code="single file", facts=facts)
    claims = _claims([*layouts().values()], tree, dataclasses.replace(config, layout=AUTO))
    if claims:
        reader = max(claims, key=lambda claim: claim.rank).layout
        return Problem(code="file of another layout", facts=facts | {"reader": reader})
    reader = f"the layout {config.layout} does not read"
    return Problem(code="single file", facts=facts | {"reader": reader})


def _held(tree: Tree, files: Sequence[str]) -> str:
    """Describe the first level of a tree; if it has only folders, their files, too."""
    top = tree.look()
    if top.files:
        return str(top)
    number = f"{tree.at_least}{counted(len(files), 'file')}"
    return f"{shown(top.folders, 'folder')} with {number} such as {files[0]}"
