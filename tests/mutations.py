"""Changes the code at random, and runs the tests that should notice each change.

    python tests/mutations.py beam_pipeline/assign trainer/order.py --number 200 --seed 1

Works in a copy of the tracked files. The tests with a module's name run first, then those of its
folder, then those of its package and tests/end_to_end. Survivors are printed as a diff: they are
either equivalent programs, or lack a test.
"""

import argparse
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
MOST_BYTES = 8 << 30  # per process, including thread stacks


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


def tests_of(mutation: Mutation, folder: Path) -> Iterator[list[str]]:
    """Yield where a test should fail: the module's tests, the folder's, the package's."""
    package, room, *_ = Path(mutation.module).parts
    own = f"test_{Path(mutation.module).stem}*.py"
    yield [str(path) for path in sorted((folder / "tests" / package).rglob(own))]
    yield [f"tests/{package}/{room}"]
    yield [f"tests/{package}", "tests/contracts", "tests/cases", "tests/end_to_end"]


def is_noticed(folder: Path, places: Sequence[str]) -> bool:
    """Whether any quick test in these places fails, or takes far too long."""
    there = [place for place in places if (folder / place).exists()]
    if not there:
        return False
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "2"]
    try:
        done = subprocess.run(
            [*command, "--dist", "loadfile", "-m", QUICK, *there],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
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
        rooms = {room for mutation in chosen for room in [*tests_of(mutation, folder)][1]}
        assert not is_noticed(folder, sorted(rooms)), "tests fail without any change"
        for number, mutation in enumerate(sorted(chosen), 1):
            file = folder / mutation.module
            before = file.read_text()
            operator = cosmic_ray.plugins.get_operator(mutation.operator)()
            after = mutate_code(before, operator, mutation.occurrence)
            file.write_text(after)
            noticed = any(is_noticed(folder, places) for places in tests_of(mutation, folder))
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
