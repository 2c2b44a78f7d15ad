"""Measures how a build's CPU time and memory grow with everything that an input may have many of.

    python benchmarks/growth.py [--axes NAME ...] [--large]

Builds each input at two sizes, the second four times the first, and prints the costs of each
further unit, and the plan for 10^8 images from them. What is superlinear shows in the last column:
the CPU time of four times as many, beyond that of any build, over four times that of the first.
`--large` builds 100,000 class folders and a store's prefix of a million keys instead. Memory is the
PSS of all processes, sampled every 50 ms. Linux only.
"""

import argparse
import contextlib
import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from memory import image
from process_tree import Figures, measure

_TIMES = 4
_DATA_ERROR = 3
_TESTS = Path(__file__).parent.parent / "tests"
_SERVER = """
import json, sys
sys.path.insert(0, sys.argv[1])
from fake_store import FakeStore
store = FakeStore()
bucket = store.new_bucket()
count = int(sys.argv[2])
store.computed[bucket] = count, lambda number: f"in/{number * 10 // count}/{number:08}.txt"
print(json.dumps([store.environment(), bucket]), flush=True)
sys.stdin.read()
"""


class Axis(NamedTuple):
    """What an input has `first` and `_TIMES * first` of.

    Attributes:
        make: Makes an input with `count` of them in a new folder.
        options: More options of the build.
        exit_code: Expected exit code of the build.
    """

    first: int
    make: Callable[[Path, int], None]
    options: Callable[[int], Sequence[str]] = lambda count: ()
    exit_code: int = 0


class Units(NamedTuple):
    """CPU seconds and bytes of memory of each further unit, and how the former grow."""

    cpu_s: float
    num_bytes: float
    growth: float


def files(folder: Path, count: int) -> None:
    """Writes tiny images in ten class folders."""
    for number in range(10):
        (folder / str(number)).mkdir()
    for number in range(count):
        (folder / str(number % 10) / f"{number}.png").write_bytes(image(number))


def folders(folder: Path, count: int) -> None:
    """Writes class folders of one image."""
    for number in range(count):
        (folder / f"class-{number}").mkdir()
        (folder / f"class-{number}" / "1.png").write_bytes(image(number))


def table(row: Callable[[int], str], header: str) -> Callable[[Path, int], None]:
    """Return a function that writes a CSV."""

    def write(folder: Path, count: int) -> None:
        with (folder / "rows.csv").open("w") as file:
            file.write(header)
            file.writelines(row(number) for number in range(count))

    return write


def columns(folder: Path, count: int, num_rows: int = 500) -> None:
    """Writes a CSV of `num_rows` rows with so many columns of numbers."""
    with (folder / "rows.csv").open("w") as file:
        file.write(",".join(f"c{number}" for number in range(count)) + "\n")
        for row in range(num_rows):
            file.write(",".join(f"{row + number / 8}" for number in range(count)) + "\n")


def objects(folder: Path, count: int) -> None:
    """Writes COCO's JSON of so many boxes in 500 images."""
    images = []
    for number in range(500):
        (folder / f"{number}.png").write_bytes(image(number))
        images.append({"id": number, "file_name": f"{number}.png", "width": 2, "height": 1})
    boxes = [
        {"id": n, "image_id": n % 500, "category_id": 1, "bbox": [0, 0, 2, 1], "iscrowd": 0}
        for n in range(count)
    ]
    categories = [{"id": 1, "name": "cell"}]
    stated = {"images": images, "annotations": boxes, "categories": categories}
    (folder / "instances_train.json").write_text(json.dumps(stated))


def classes(folder: Path, count: int) -> None:
    """Writes 20,000 rows of so many classes."""
    row = table(lambda number: f"{number},class {number % count}\n", "number,label\n")
    row(folder, 20_000)


def nothing(folder: Path, count: int) -> None:
    """The store computes its objects."""


_ROWS = table(lambda number: f"{number},{number / 7},{number % 9},a{number},b\n", "a,b,c,d,label\n")
AXES = {
    "files": Axis(3_000, files),
    "class folders": Axis(3_000, folders),
    "rows": Axis(40_000, _ROWS),
    "columns": Axis(200, columns),
    "columns of 3 rows": Axis(1_250, functools.partial(columns, num_rows=3)),
    "objects of images": Axis(10_000, objects),
    "classes": Axis(2_500, classes),
    "duplicates": Axis(
        20_000,
        table(lambda number: f"{number // 2},x\n", "number,label\n"),
        lambda count: ("--duplicates=drop",),
    ),
    "rejects": Axis(
        60_000,
        table(lambda number: f"{number}.png,x\n", "image,label\n"),
        lambda count: ("--max-bad-fraction=1",),
        _DATA_ERROR,
    ),
    "shards": Axis(
        50, lambda folder, count: _ROWS(folder, 20_000), lambda count: (f"--num-shards={count}",)
    ),
    "keys of a store": Axis(2_000, nothing),
}
LARGE = {"class folders": 100_000, "keys of a store": 1_000_000}


def main() -> None:
    """Makes inputs, builds each and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--axes", nargs="+", choices=AXES, default=list(AXES))
    parser.add_argument("--large", action="store_true")
    args = parser.parse_args()
    print("| what | number | CPU s | peak MiB | CPU µs per further unit | bytes | growth |")
    print("|---|---|---|---|---|---|---|")
    units = {}
    start_s = min(built("start", Axis(10, files), 10).cpu_s for _ in range(2))
    for name in (each for each in args.axes if not args.large or each in LARGE):
        axis = AXES[name]
        sizes = [LARGE[name]] if args.large else [axis.first, _TIMES * axis.first]
        runs = {count: built(name, axis, count) for count in sizes}
        if len(runs) > 1:
            units[name] = units_of(runs, start_s)
        for count, figures in runs.items():
            print(line(name, count, figures, units.get(name) if count == sizes[-1] else None))
        sys.stdout.flush()
    if units.keys() == AXES.keys():
        print(plan(units))


def built(name: str, axis: Axis, count: int) -> Figures:
    """Builds an input of so many units."""
    with (
        tempfile.TemporaryDirectory() as folder,
        store(count if name == "keys of a store" else 0) as (url, environment),
    ):
        source = Path(folder, "in")
        source.mkdir()
        axis.make(source, count)
        command = [sys.executable, "-m", "beam_pipeline", "build", url or str(source)]
        command += ["--output", f"{folder}/out", *axis.options(count)]
        return measure(command, environment=environment, exit_code=axis.exit_code)


@contextlib.contextmanager
def store(count: int) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Run the tests' store with so many objects; yields its URL and variables, or nothing."""
    if not count:
        yield "", {}
        return
    command = [sys.executable, "-c", _SERVER, str(_TESTS), str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        environment, bucket = json.loads(run.stdout.readline())
        try:
            yield f"s3://{bucket}/in", environment
        finally:
            run.terminate()


def units_of(runs: Mapping[int, Figures], start_s: float) -> Units:
    """Costs of a unit between two sizes, given the CPU time of any build."""
    (few, first), (many, second) = runs.items()
    cpu_s = (second.cpu_s - first.cpu_s) / (many - few)
    num_bytes = (second.peak_mib - first.peak_mib) * 2**20 / (many - few)
    growth = (second.cpu_s - start_s) / many / ((first.cpu_s - start_s) / few)
    return Units(cpu_s, num_bytes, growth)


def line(name: str, count: int, figures: Figures, units: Units | None) -> str:
    """A row of the table."""
    more = (
        f"{1e6 * units.cpu_s:,.0f} | {max(0, units.num_bytes):,.0f} | {units.growth:.2f}"
        if units
        else " | | "
    )
    return f"| {name} | {count:,} | {figures.cpu_s:.1f} | {figures.peak_mib:,.0f} | {more} |"


# A photograph of 65 KB in addition to a tiny file: reading, hashing and decoding twice.
_PHOTOGRAPH_S, _PHOTOGRAPH_BYTES = 1.6e-3, 65_000
_IMAGES, _WORKERS, _CPUS, _SHARD_BYTES = 10**8, 100, 4, 128 << 20
# Of a shard, in the commit of 48,000.
_COMMIT_S, _COMMIT_BYTES = 2.5e-4, 13_000
_LATENCY_S, _LISTS_AT_ONCE, _GETS_AT_ONCE = 0.05, 32, 64


def plan(units: Mapping[str, Units]) -> str:
    """The steps of a build of 10^8 photographs on a store, by 100 workers of 4 CPUs."""
    lists = 1.2 * _IMAGES / 1000
    each = units["keys of a store"].cpu_s + _PHOTOGRAPH_S
    shards = _IMAGES * _PHOTOGRAPH_BYTES / _SHARD_BYTES
    cpus = _WORKERS * _CPUS
    rows = {
        "list": (f"{lists:,.0f} LIST", lists * _LATENCY_S / _LISTS_AT_ONCE),
        "inspect and write, CPU": (f"{_IMAGES * each / 3600:,.0f} h", _IMAGES * each / cpus),
        "inspect and write, requests": (
            f"{2 * _IMAGES:,} GET",
            2 * _IMAGES * _LATENCY_S / (_GETS_AT_ONCE * cpus),
        ),
        "inspect and write, 1 GB/s each": (
            f"{3 * _IMAGES * _PHOTOGRAPH_BYTES / 1e12:.1f} TB",
            3 * _IMAGES * _PHOTOGRAPH_BYTES / 1e9 / _WORKERS,
        ),
        "finish shards": (f"{shards:,.0f} shards", shards * units["shards"].cpu_s / cpus),
        "commit, one worker": (
            f"{shards * _COMMIT_BYTES / 2**20:,.0f} MiB",
            shards * _COMMIT_S,
        ),
    }
    head = "\n| step | how much | minutes on 100 workers |\n|---|---|---|\n"
    return head + "\n".join(
        f"| {step} | {much} | {seconds / 60:.1f} |" for step, (much, seconds) in rows.items()
    )


if __name__ == "__main__":
    main()
