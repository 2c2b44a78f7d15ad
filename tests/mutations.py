"""Changes the code at random, and runs the tests that should notice each change.

    python tests/mutations.py beam_pipeline/assign trainer/records --number 200 --seed 1

Works in a copy of the tracked files. A change that the tests of its module do not notice is tried
on those of its room, then, unless `--within-rooms` is given, on those of its package and on
tests/end_to_end. What survives is printed with its difference, and is either the same program (say
why), or lacks a test.
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
QUICK = "not slow and not flink and not gpu and not readers and not docker and not dataflow"
# `|` stands in annotations, and a mutation of those says nothing; without its decorator a
# dataclass or a fixture is none, which every test notices.
DULL = ("BitOr", "decorator", "no-op", "variable")
# Of a room without a folder of tests of its own, and what else holds a room.
TESTS = {
    "beam_pipeline/kinds": [
        *("tests/beam_pipeline/kinds", "tests/contracts", "tests/beam_pipeline/schema"),
        *("tests/beam_pipeline/inspect", "tests/beam_pipeline/describe"),
    ],
    "beam_pipeline/sources": ["tests/beam_pipeline/sources", "tests/cases"],
    "beam_pipeline/tfrecord": ["tests/beam_pipeline/tfrecord", "tests/tfrecord_dataset"],
    "tfrecord_dataset/format/frames": ["tests/beam_pipeline/tfrecord", "tests/tfrecord_dataset"],
    "tfrecord_dataset/image_size": ["tests/beam_pipeline/kinds", "tests/tfrecord_dataset"],
    "tfrecord_dataset/values": [
        *("tests/contracts", "tests/tfrecord_dataset"),
        "tests/end_to_end/test_values.py",
    ],
    "tfrecord_dataset/records": ["tests/tfrecord_dataset", "tests/trainer/records"],
    "tfrecord_dataset/store": [
        *("tests/tfrecord_dataset/store", "tests/trainer/store", "tests/trainer/records"),
        *("tests/tfrecord_dataset/records/test_access.py", "tests/beam_pipeline/files"),
    ],
    "trainer/training": ["tests/trainer/training", "tests/trainer/runs"],
}
SLOWEST_S = 900
MOST_BYTES = 8 << 30  # of a process, the stacks of its threads counted


class Mutation(NamedTuple):
    """The n-th place in a module that an operator changes."""

    module: str
    operator: str
    occurrence: int


def mutations(modules: Sequence[str]) -> Iterator[Mutation]:
    """All that can be made of some modules."""
    for module in modules:
        nodes = list(ast_nodes(get_ast_from_path(ROOT / module)))
        for name in sorted(cosmic_ray.plugins.operator_names()):
            operator = cosmic_ray.plugins.get_operator(name)
            if not operator.arguments() and not any(word in name for word in DULL):
                made = operator()
                count = sum(1 for node in nodes for _ in made.mutation_positions(node))
                yield from (Mutation(module, name, number) for number in range(count))


def room_of(mutation: Mutation) -> str:
    """The folder or module right below the package."""
    return "/".join(mutation.module.split("/")[:2]).removesuffix(".py")


def tests_of_room(room: str, folder: Path) -> list[str]:
    """Its own tests; of a module right below the package those of the package."""
    if room in TESTS:
        return TESTS[room]
    return [
        f"tests/{room}" if (folder / "tests" / room).is_dir() else f"tests/{room.split('/')[0]}"
    ]


def modules_below(places: Sequence[str]) -> list[str]:
    """The modules of files and folders of the repository."""
    command = ["git", "ls-files", "--", *places]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split() if name.endswith(".py")]


def copy_to(folder: Path) -> None:
    """Copies the tracked files, as they are now."""
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    pack = ["tar", "--create", "--null", "--files-from=-"]
    packed = subprocess.run(pack, cwd=ROOT, input=listed, capture_output=True, check=True).stdout
    subprocess.run(["tar", "--extract"], cwd=folder, input=packed, check=True)


def tests_of(mutation: Mutation, folder: Path, *, within_rooms: bool) -> Iterator[list[str]]:
    """Where a test should fail: in that of the module, else of the room, else of the package."""
    rooms = tests_of_room(room_of(mutation), folder)
    own = f"test_{Path(mutation.module).stem}*.py"
    yield [str(path) for place in rooms for path in sorted((folder / place).rglob(own))]
    yield rooms
    if not within_rooms:
        yield [f"tests/{mutation.module.split('/')[0]}", "tests/end_to_end"]


def is_noticed(folder: Path, places: Sequence[str]) -> bool:
    """Whether any of the quick tests in some places fails, or takes far too long."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "2"]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    there = [place for place in places if (folder / place).exists()]
    if not there:
        return False
    try:
        done = subprocess.run(
            [*command, "--dist", "loadfile", "-m", QUICK, *there],
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=SLOWEST_S,
            check=False,
            preexec_fn=_bound_memory,
        )
    except subprocess.TimeoutExpired:
        return True
    assert done.returncode in (0, 1, 2, 3, 5), done.stdout.decode()[-2000:]
    return done.returncode not in (0, 5)  # 5: none of them is quick


def _bound_memory() -> None:
    """A change may make a loop endless that collects something."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("places", nargs="+", help="files and folders of the packages")
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", type=int, default=0, help="so many were tried before")
    parser.add_argument("--within-rooms", action="store_true")
    arguments = parser.parse_args()
    possible = list(mutations(modules_below(arguments.places)))
    chosen = random.Random(arguments.seed).sample(possible, min(arguments.number, len(possible)))
    survivors = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_to(folder)
        rooms = {room_of(mutation) for mutation in chosen}
        for places in sorted({tuple(tests_of_room(room, folder)) for room in rooms}):
            # Twice, for on a busy machine a test of processes and stores may fail by chance.
            is_broken = is_noticed(folder, places) and is_noticed(folder, places)
            assert not is_broken, f"{', '.join(places)} fails as is"
        for number, mutation in list(enumerate(sorted(chosen), 1))[arguments.skip :]:
            file = folder / mutation.module
            before = file.read_text()
            operator = cosmic_ray.plugins.get_operator(mutation.operator)()
            after = mutate_code(before, operator, mutation.occurrence)
            file.write_text(after)
            noticed = any(
                is_noticed(folder, places)
                for places in tests_of(mutation, folder, within_rooms=arguments.within_rooms)
            )
            file.write_text(before)
            survivors += not noticed
            outcome = "noticed" if noticed else "SURVIVED"
            print(f"{number}/{len(chosen)} {outcome} {mutation}", flush=True)
            if not noticed:
                lines = before.splitlines(), after.splitlines()
                print(*difflib.unified_diff(*lines, lineterm="", n=1), sep="\n", flush=True)
    tried = len(chosen) - arguments.skip
    print(f"{tried - survivors} of {tried} noticed ({len(possible)} possible)")


if __name__ == "__main__":
    main()
