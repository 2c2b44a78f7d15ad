"""Runs all benchmarks against their peers in interleaved rounds; writes a page of results.

    python benchmarks/bench.py [--full] [--suite input tiny] [--rounds 3] [--output FOLDER]

Makes the data and the peers' environments in the user's cache, runs every contender once per round,
and writes RESULTS.md, results.json and a picture for each suite to FOLDER (default: benchmarks).
Time, CPU time and memory (PSS) cover all processes of a contender. Linux only.
"""

import argparse
import ast
import itertools
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import peer_environments
import results
from process_tree import measure
from suites import NUM_SHARDS, PAST_START, SUITES, Contender, Suite, command_of, prepare, script_of

from tfrecord_dataset.store.user_cache import cache_folder

HERE = Path(__file__).parent
# A run with a tenth of the records measures the start-up cost of a command.
_FEW = 10
Run = dict[str, float]


def main() -> None:
    """Runs the suites and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [suite.name for suite in SUITES]
    parser.add_argument("--suite", nargs="+", choices=names, default=names)
    parser.add_argument("--full", action="store_true", help="more records, and the slow peers")
    parser.add_argument("--count", type=int, help="records, in place of those of the suite")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=HERE)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    kept = args.output / "results.json"
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    # Before anything is measured, since a run takes minutes.
    chosen = {
        suite: [each for each in suite.contenders if args.full or not each.full]
        for suite in SUITES
        if suite.name in args.suite
    }
    if missing := sorted(set().union(*map(missing_modules, itertools.chain(*chosen.values())))):
        sys.exit(f"error: not installed here: {', '.join(missing)}; type: make dev")
    chosen = {
        suite: [each for each in some if peer_environments.can_be_installed(each.environment)]
        for suite, some in chosen.items()
    }
    for suite, contenders in chosen.items():
        count = args.count or suite.counts[args.full]
        found[suite.name] = run(suite, contenders, count=count, rounds=args.rounds)
        kept.write_text(json.dumps(found, indent=1) + "\n")
    results.write(args.output, found)


def missing_modules(contender: Contender) -> set[str]:
    """Modules that a contender in this environment imports and that are not installed."""
    script = script_of(contender)
    if contender.environment or script is None:
        return set()
    nodes = list(ast.walk(ast.parse(script.read_text())))
    names = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {top for name in names if not find_spec(top := name.partition(".")[0])}


def run(
    suite: Suite, contenders: Sequence[Contender], *, count: int, rounds: int
) -> dict[str, Any]:
    """Runs all rounds of a suite; returns the results."""
    few = max(count // _FEW, NUM_SHARDS)
    folder = _prepared(suite, count)
    runs: dict[str, list[Run]] = {contender.title: [] for contender in contenders}
    for number in range(rounds):
        for contender in contenders:
            print(f"{suite.name} {number + 1}/{rounds} {contender.title}", file=sys.stderr)
            figures = one_run(suite, contender, folder, count)
            if not suite.passes:
                start = one_run(suite, contender, _prepared(suite, few), few)
                figures[PAST_START] = (figures["cpu_s"] - start["cpu_s"]) / (count - few)
            runs[contender.title].append(figures)
    return {"records": count, "rounds": rounds, "runs": runs, **results.environment(contenders)}


def _prepared(suite: Suite, count: int) -> Path:
    """Folder with `count` records of a suite."""
    folder = cache_folder() / "benchmarks" / f"{suite.name}-{count}"
    folder.mkdir(parents=True, exist_ok=True)
    prepare(suite, folder, count)
    return folder


def one_run(suite: Suite, contender: Contender, folder: Path, count: int) -> Run:
    """Figures of one run: the median pass if it prints passes, else the whole command."""
    with tempfile.TemporaryDirectory() as name:
        output = Path(name, "output")
        command = command_of(contender, folder, output)
        figures = measure(command, environment={"PYTHONPATH": str(HERE)} | QUIET)
        shutil.rmtree(output, ignore_errors=True)
    told = {"records": count, "wall_s": figures.wall_s, "cpu_s": figures.cpu_s}
    if suite.passes:
        told = median_pass([json.loads(line) for line in figures.output.splitlines()])
    return told | {"peak_mib": figures.peak_mib}


def median_pass(passes: Sequence[Mapping[str, float]]) -> Run:
    """Records, seconds and CPU seconds of the median pass."""
    medians = {key: statistics.median(each[key] for each in passes) for key in passes[0]}
    return {"records": medians.pop("images"), **medians}


QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}


if __name__ == "__main__":
    main()
