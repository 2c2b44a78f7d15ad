"""What `build` holds in memory where there is much to hold: long texts, and very many records.

    python benchmarks/memory.py [--texts 8000] [--records 1000000]

Prints wall time, CPU time and peak memory of each build: of JSON Lines with texts of 20 KB, and of
tiny images in tars, with the time to the first record. Memory is the sum over all processes of the
memory that is theirs (PSS), looked at every 50 ms. Linux only.
"""

import argparse
import io
import json
import random
import sys
import tarfile
import tempfile
from pathlib import Path

from PIL import Image
from process_tree import measure

_TEXT_CHARACTERS = 20_000
_RECORDS_PER_TAR = 100_000


def main() -> None:
    """Makes the inputs where they are missing, builds each, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=8_000)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "memory"))
    args = parser.parse_args()
    inputs = {
        f"{args.texts:,} texts": texts(args.folder / f"texts_{args.texts}.jsonl", args.texts),
        f"{args.records:,} records": tars(args.folder / f"tars_{args.records}", args.records),
    }
    print(f"{'':20}{'wall s':>9}{'CPU s':>9}{'peak MiB':>10}")
    for name, path in inputs.items():
        build = ["-m", "beam_pipeline", "build", str(path), "--output", str(args.folder / "data")]
        figures = measure([sys.executable, *build, "--overwrite"])
        print(f"{name:20}{figures.wall_s:9.1f}{figures.cpu_s:9.1f}{figures.peak_mib:10.0f}")


def texts(path: Path, count: int) -> Path:
    """JSON Lines of so many long texts, no two alike."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        words = [f"word{number}" for number in range(5_000)]
        choose = random.Random(0)
        with path.open("w") as file:
            for number in range(count):
                text = " ".join(choose.choices(words, k=_TEXT_CHARACTERS // 9))
                file.write(json.dumps({"text": text, "label": f"class {number % 5}"}) + "\n")
    return path


def tars(folder: Path, count: int) -> Path:
    """Tars of so many tiny images, no two alike, with their classes beside them."""
    if not folder.exists():
        folder.mkdir(parents=True)
        for start in range(0, count, _RECORDS_PER_TAR):
            with tarfile.open(folder / f"{start // _RECORDS_PER_TAR:05d}.tar", "w") as tar:
                for number in range(start, min(start + _RECORDS_PER_TAR, count)):
                    add(tar, f"{number:08d}.png", image(number))
                    add(tar, f"{number:08d}.cls", b"%d" % (number % 10))
    return folder


def add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    """Adds a member."""
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def image(number: int) -> bytes:
    """A PNG of two pixels that are the number."""
    buffer = io.BytesIO()
    colours = number.to_bytes(6, "big")
    Image.frombytes("RGB", (2, 1), colours).save(buffer, "PNG")
    return buffer.getvalue()


if __name__ == "__main__":
    main()
