"""Writes the page of results: tables, goals, pictures, versions."""

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import peer_environments
from bars import bars
from process_tree import median_ratio
from suites import PAST_START, SUITES, Contender, Goal, Suite

_PACKAGES = ("apache-beam", "tensorflow-cpu", "tensorflow-datasets", "keras", "pillow", "numpy")
_HEAD = """# Results

Made by `make bench` (`python benchmarks/bench.py`); what each contender runs is in
[suites.py](suites.py) and [peers/](peers), the shortest that its own documentation recommends.
Rounds are interleaved: in each, every contender runs once. Figures are medians, with the least and
the most in brackets; CPU time and memory (PSS, every 50 ms) are those of all processes. Ratios are
medians of the ratios within a round. "Past the start": from the difference between a run and one of
a tenth of the records.
"""


def environment(contenders: Sequence[Contender]) -> dict[str, Any]:
    """The machine and versions that a suite ran with."""
    peers = {contender.environment for contender in contenders} - {""}
    return {
        "machine": _machine(),
        "versions": [f"Python {platform.python_version()}"]
        + [f"{name} {found}" for name in _PACKAGES if (found := _version(name))]
        + [
            line.replace("==", " ")
            for name in sorted(peers)
            for line in peer_environments.versions(name)
        ],
    }


def write(folder: Path, found: Mapping[str, Any]) -> None:
    """Writes RESULTS.md and the pictures of all suites with runs."""
    parts = [_HEAD]
    for suite in SUITES:
        if suite.name in found:
            parts.append(section(suite, found[suite.name]))
            (folder / f"{suite.name}.svg").write_text(_picture(suite, found[suite.name]["runs"]))
    (folder / "RESULTS.md").write_text("\n".join(parts))


def section(suite: Suite, told: Mapping[str, Any]) -> str:
    """The page's section on one suite."""
    runs = told["runs"]
    first = suite.contenders[0].title
    per = "records/s" if suite.passes else "seconds"
    head = " past the start |" if _past_start(runs[first]) else ""
    lines = [
        f"## {suite.title}",
        "",
        f"{told['records']:,} records, {told['rounds']} round{'s' * (told['rounds'] > 1)}, "
        f"{told['machine']}; {', '.join(told['versions'])}.",
        "",
        f"![{suite.title}]({suite.name}.svg)",
        "",
        f"| | {per} | CPU ms a record |{head} peak MiB | time / ours |",
        f"|---|---|---|{'---|' * bool(head)}---|---|",
        *(
            f"| {title} | {_spread(_shown(suite, run))} | {_spread(_cpu_ms(run), 2)} |"
            f"{_past_start(run)} {_median(run, 'peak_mib'):,.0f} | "
            f"{_ratio(runs, title, first, 'wall_s'):.2f} |"
            for title, run in runs.items()
        ),
        "",
        "| goal | ratio | |",
        "|---|---|---|",
        *(goal_row(goal, runs) for goal in suite.goals if {goal.ours, goal.other} <= set(runs)),
        "",
    ]
    return "\n".join(lines)


def goal_row(goal: Goal, runs: Mapping[str, Any]) -> str:
    """A table row that reports whether a goal is met."""
    ratio = _ratio(runs, goal.ours, goal.other, goal.figure)
    verdict = (
        "held" if ratio <= goal.at_most else f"**missed**: {goal.holds or 'not yet explained'}"
    )
    return f"| {goal.text} (at most {goal.at_most:.2f}) | {ratio:.2f} | {verdict} |"


def _ratio(runs: Mapping[str, Any], one: str, other: str, figure: str) -> float:
    return median_ratio(
        *([run[figure] / _count(run, figure) for run in runs[each]] for each in (one, other))
    )


def _count(run: Mapping[str, float], figure: str) -> float:
    return 1 if figure in ("peak_mib", PAST_START) else run["records"]


def _shown(suite: Suite, runs: Sequence[Mapping[str, float]]) -> list[float]:
    if suite.passes:
        return [run["records"] / run["wall_s"] for run in runs]
    return [run["wall_s"] for run in runs]


def _cpu_ms(runs: Sequence[Mapping[str, float]]) -> list[float]:
    return [1000 * run["cpu_s"] / run["records"] for run in runs]


def _past_start(runs: Sequence[Mapping[str, float]]) -> str:
    """Cell with CPU ms per record past the start; "" if not measured."""
    if PAST_START not in runs[0]:
        return ""
    return f" {_spread([1000 * run[PAST_START] for run in runs], 2)} |"


def _median(runs: Sequence[Mapping[str, float]], figure: str) -> float:
    return statistics.median(run[figure] for run in runs)


def _spread(figures: Sequence[float], digits: int = 1) -> str:
    if min(figures) >= 100:
        digits = 0
    middle, least, most = statistics.median(figures), min(figures), max(figures)
    return f"{middle:,.{digits}f} ({least:,.{digits}f}–{most:,.{digits}f})"


def _picture(suite: Suite, runs: Mapping[str, Any]) -> str:
    shown = {title: statistics.median(_shown(suite, run)) for title, run in runs.items()}
    unit = "/s" if suite.passes else " s"
    return bars(suite.title, shown, unit, marked=suite.contenders[0].title)


def _machine() -> str:
    cpus = Path("/proc/cpuinfo").read_text()
    model = next(
        (line.split(":")[1].strip() for line in cpus.splitlines() if "model name" in line), ""
    )
    kib = int(Path("/proc/meminfo").read_text().split()[1])
    return f"{os.cpu_count()} CPUs ({model}), {kib / 2**20:.0f} GiB"


def _version(name: str) -> str:
    try:
        return version(name)
    except ModuleNotFoundError:
        return ""
