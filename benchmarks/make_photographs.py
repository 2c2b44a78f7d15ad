"""Makes photographs of mixed sizes, in ten class folders and in tars of WebDataset.

python benchmarks/make_photographs.py OUTPUT [--count 2000]
"""

import argparse
import io
import tarfile
from pathlib import Path

import numpy as np
from input import MIXED
from input_records import photograph

_PER_TAR = 100


def main() -> None:
    """Reads the arguments and writes the images."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--count", type=int, default=2_000)
    args = parser.parse_args()
    random = np.random.default_rng(0)
    for folder in [
        args.output / "tars",
        *(args.output / f"photographs/class_{n}" for n in range(10)),
    ]:
        folder.mkdir(parents=True)
    for first in range(0, args.count, _PER_TAR):
        with tarfile.open(args.output / f"tars/{first // _PER_TAR:05d}.tar", "w") as tar:
            for number in range(first, min(first + _PER_TAR, args.count)):
                data = photograph(random, *MIXED[number % len(MIXED)])
                name = f"{number:06d}.jpg"
                (args.output / f"photographs/class_{number % 10}" / name).write_bytes(data)
                _add(tar, name, data)
                _add(tar, f"{number:06d}.cls", b"%d" % (number % 10))


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


if __name__ == "__main__":
    main()
