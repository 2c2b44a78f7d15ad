"""Changes the code at random, and runs the tests that should notice each change.

    python tests/mutations.py beam_pipeline/assign trainer/order.py --number 200 --seed 1

Works in a copy of the tracked files. All quick tests run there once, which shows the lines that
each runs; a change is then tested by those that run its line. If no test runs the line in its own
process (a constant, or code of worker processes), the tests of the module, its folder and its
package are used. Survivors are printed as a diff: they are either equivalent programs, or lack a
test.
"""

import argparse
import ast
import difflib
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import cosmic_ray.plugins
import coverage
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code

ROOT = Path(__file__).parent.parent
QUICK = (
    "not slow and not nightly and not words and not flink and not gpu and not readers"
    " and not docker and not dataflow and not runners"
)
# `|` occurs in annotations, whose mutations mean nothing; and every test notices a dataclass or a
# fixture without its decorator.
DULL = ("BitOr", "decorator", "no-op", "variable")
SLOWEST_S = 900
MOST_BYTES = 14 << 30  # per process, including thread stacks
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "-m", QUICK]


class Mutation(NamedTuple):
    """An operator's n-th change of a module."""

    module: str
    operator: str
    occurrence: int


def mutations(modules: Sequence[str]) -> Iterator[Mutation]:
    """Yield all mutations of these modules."""
    for module in modules:
        nodes = list(ast_nodes(get_ast_from_path(ROOT / module)))
        for name in sorted(cosmic_ray.plugins.operator_names()):
            operator = cosmic_ray.plugins.get_operator(name)
            if not operator.arguments() and not any(word in name for word in DULL):
                made = operator()
                count = sum(1 for node in nodes for _ in made.mutation_positions(node))
                yield from (Mutation(module, name, number) for number in range(count))


def tracked(*places: str) -> list[str]:
    """Return the tracked files below some paths of the repository."""
    command = ["git", "ls-files", "-z", "--", *places]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.split("\0")[:-1]


def measured(folder: Path) -> coverage.CoverageData:
    """Run all quick tests of a copy, and return which of them ran each line."""
    covering = ("--cov", "--cov-context=test", "--cov-report=")
    command = [*PYTEST, "--dist", "loadfile", "--reruns", "1", *covering, "tests"]
    subprocess.run(command, cwd=folder, env=_environment(folder), check=True)
    data = coverage.CoverageData(str(folder / ".coverage"))
    data.read()
    return data


def changed_lines(before: str, after: str) -> range:
    """Return the lines of the innermost statement that changes, without the statements in it."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    line = next(number for number, (old, new) in enumerate(pairs, 1) if old != new)
    statements = [
        node
        for node in ast.walk(ast.parse(before))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line)
    ]
    if not statements:  # a decorator
        return range(line, line + 1)
    inner = max(statements, key=lambda node: (node.lineno, node.col_offset))
    body = getattr(inner, "body", None)
    return range(inner.lineno, body[0].lineno if body else (inner.end_lineno or line) + 1)


def tests_of_lines(data: coverage.CoverageData, file: Path, lines: range) -> list[str]:
    """Return the tests that ran any of these lines; whole files where a fixture did."""
    by_line = data.contexts_by_lineno(str(file))
    contexts = {context for line in lines for context in by_line.get(line, ()) if context}
    named = [context.rpartition("|") for context in contexts]
    files = {name.partition("::")[0] for name, _, phase in named if phase == "setup"}
    return sorted(files | {name for name, _, _ in named if name.partition("::")[0] not in files})


def tests_by_name(module: str, folder: Path) -> Iterator[list[str]]:
    """Yield the tests of a module, of its folder, of its package."""
    package, room, *_ = Path(module).parts
    own = f"test_{Path(module).stem}*.py"
    yield [str(path) for path in sorted((folder / "tests" / package).rglob(own))]
    yield [f"tests/{package}/{room}"]
    yield [f"tests/{package}", "tests/contracts", "tests/cases", "tests/end_to_end"]


def is_noticed(folder: Path, tests: Sequence[str]) -> bool:
    """Whether any quick test of these fails, or takes far too long."""
    there = [test for test in tests if (folder / test.partition("::")[0]).exists()]
    if not there:
        return False
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as names:
        print(*there, sep="\n", file=names, flush=True)
        try:
            done = subprocess.run(
                [*PYTEST, "-x", "--dist", "load", f"@{names.name}"],
                cwd=folder,
                env=_environment(folder),
                capture_output=True,
                timeout=SLOWEST_S,
                check=False,
                preexec_fn=_bound_memory,
            )
        except subprocess.TimeoutExpired:
            return True
    # 4: the mutated module does not parse, so conftest.py fails; 5: there are no quick tests.
    assert done.returncode in range(6), done.stdout.decode()[-2000:]
    return done.returncode not in (0, 5)


def _environment(folder: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def _bound_memory() -> None:
    """Limit memory: a mutation may make a collecting loop endless."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("places", nargs="+", help="files and folders of the packages")
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    modules = [name for name in tracked(*arguments.places) if name.endswith(".py")]
    possible = list(mutations(modules))
    chosen = random.Random(arguments.seed).sample(possible, min(arguments.number, len(possible)))
    survivors = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["cp", "--parents", *tracked(), folder], cwd=ROOT, check=True)
        for command in (["git", "init", "--quiet"], ["git", "add", "."]):  # some tests ask git
            subprocess.run(command, cwd=folder, check=True)
        data = measured(folder)
        for number, mutation in enumerate(sorted(chosen), 1):
            file = folder / mutation.module
            before = file.read_text()
            operator = cosmic_ray.plugins.get_operator(mutation.operator)()
            after = mutate_code(before, operator, mutation.occurrence)
            file.write_text(after)
            tests = tests_of_lines(data, file, changed_lines(before, after))
            steps = [tests] if tests else tests_by_name(mutation.module, folder)
            noticed = any(is_noticed(folder, each) for each in steps)
            file.write_text(before)
            survivors += not noticed
            outcome = "noticed" if noticed else "SURVIVED"
            print(f"{number}/{len(chosen)} {outcome} {mutation}", flush=True)
            if not noticed:
                lines = before.splitlines(), after.splitlines()
                print(*difflib.unified_diff(*lines, lineterm="", n=1), sep="\n", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} noticed ({len(possible)} possible)")


if __name__ == "__main__":
    main()
