"""Measures the memory of `build` on large inputs and on inputs where all records are alike.

    python benchmarks/memory.py [--texts 8000] [--records 1000000] [--cases NAME ...]

Prints wall time, CPU time and peak memory of each build: JSON Lines with texts of 20 KB, tiny
images in tars, and rows that hashing cannot spread: rows of one image, content, key, group or
shard, all dropped as duplicates, or all rejected. Memory is the PSS of all processes, sampled
every 50 ms. Linux only.
"""

import argparse
import io
import json
import random
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from process_tree import measure

_TEXT_CHARACTERS = 20_000
_RECORDS_PER_TAR = 100_000
_DATA_ERROR = 3


class Case(NamedTuple):
    """A build to measure.

    Attributes:
        make: Makes an input of `count` records at a path.
        suffix: Suffix of that path.
        options: More options of the build.
        exit_code: Expected exit code of the build.
    """

    make: Callable[[Path, int], None]
    suffix: str = ".jsonl"
    options: Sequence[str] = ()
    exit_code: int = 0


def main() -> None:
    """Makes missing inputs, builds each and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=8_000)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "memory"))
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    output = str(args.folder / "data")
    print(f"{'':28}{'wall s':>9}{'CPU s':>9}{'peak MiB':>10}")
    for name in args.cases:
        case = CASES[name]
        count = args.texts if name == "texts" else args.records
        path = args.folder / f"{name.replace(' ', '_')}_{count}{case.suffix}"
        if not path.exists():
            case.make(path, count)
        command = [sys.executable, "-m", "beam_pipeline", "build", str(path), "--output", output]
        command += ["--name", "data", "--overwrite", *case.options]
        if name == "of one key":
            command = [sys.executable, str(Path(__file__).with_name("one_key.py"))]
            command += [str(count), output]
        figures = measure(command, exit_code=case.exit_code)
        row = f"{figures.wall_s:9.1f}{figures.cpu_s:9.1f}{figures.peak_mib:10.0f}"
        print(f"{f'{count:,} {name}':28}{row}", flush=True)


def texts(path: Path, count: int) -> None:
    """Writes JSON Lines of `count` distinct long texts."""
    words = [f"word{number}" for number in range(5_000)]
    choose = random.Random(0)
    with path.open("w") as file:
        for number in range(count):
            text = " ".join(choose.choices(words, k=_TEXT_CHARACTERS // 9))
            file.write(json.dumps({"text": text, "label": f"class {number % 5}"}) + "\n")


def tars(folder: Path, count: int) -> None:
    """Writes tars of `count` distinct tiny images with classes."""
    folder.mkdir(parents=True)
    for start in range(0, count, _RECORDS_PER_TAR):
        with tarfile.open(folder / f"{start // _RECORDS_PER_TAR:05d}.tar", "w") as tar:
            for number in range(start, min(start + _RECORDS_PER_TAR, count)):
                add(tar, f"{number:08d}.png", image(number))
                add(tar, f"{number:08d}.cls", b"%d" % (number % 10))


def add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    """Adds a member."""
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def image(number: int) -> bytes:
    """A PNG of two pixels that encode the number."""
    buffer = io.BytesIO()
    colours = number.to_bytes(6, "big")
    Image.frombytes("RGB", (2, 1), colours).save(buffer, "PNG")
    return buffer.getvalue()


def rows_of_one_image(folder: Path, count: int) -> None:
    """Writes a CSV whose rows all name one image."""
    folder.mkdir(parents=True)
    (folder / "image.png").write_bytes(image(0))
    with (folder / "labels.csv").open("w") as file:
        file.write("image,label\n")
        file.writelines("image.png,a\n" for _ in range(count))


def equal_rows(path: Path, count: int) -> None:
    """Writes identical JSON Lines."""
    with path.open("w") as file:
        file.writelines('{"number": 1, "other": 2.5}\n' for _ in range(count))


def rows(path: Path, count: int) -> None:
    """Writes distinct JSON Lines in one group."""
    with path.open("w") as file:
        file.writelines(f'{{"number": {number}, "group": "a"}}\n' for number in range(count))


def bad_rows(path: Path, count: int) -> None:
    """Writes JSON Lines of which only the first is valid."""
    with path.open("w") as file:
        file.write('{"number": 1}\n')
        file.writelines("no JSON\n" for _ in range(count))


def nothing(path: Path, count: int) -> None:
    """Writes nothing: a script makes the records."""


CASES = {
    "texts": Case(texts),
    "records": Case(tars, suffix=""),
    "of one image": Case(rows_of_one_image, suffix=""),
    "of one content": Case(equal_rows),
    "dropped": Case(equal_rows, options=["--duplicates", "drop"]),
    "of one key": Case(nothing, exit_code=_DATA_ERROR),
    "of one group": Case(rows, options=["--group-by", "group", "--split", "train=0.5,test=0.5"]),
    "in one shard": Case(rows, options=["--num-shards", "1"]),
    "rejected": Case(bad_rows, options=["--max-bad-fraction", "1"]),
}


if __name__ == "__main__":
    main()
