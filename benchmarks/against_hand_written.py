"""`build` against a hand-written script with the same checks, in one run.

    python benchmarks/against_hand_written.py [--count 50000] [--kilobytes 3] [--runs 3]

Prints a table: the median wall time, CPU time and peak memory of each, and the ratios of
pairs of runs that followed one another. Memory is the sum over a program's processes of the
memory that is theirs (PSS), looked at every 50 ms. Linux only.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from process_tree import Figures, measure

HERE = Path(__file__).parent


def main() -> None:
    """Makes the images where they are missing, runs both in turn, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--kilobytes", type=float, default=3.0, help="about, an image")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir(), "against_hand_written")
    )
    args = parser.parse_args()
    images = args.folder / f"images_{args.count}_{args.kilobytes:g}"
    if not images.exists():
        make = [HERE / "make_images.py", images, "--count", str(args.count)]
        make += ["--kilobytes", str(args.kilobytes)]
        subprocess.run([sys.executable, *make], check=True)
    build = ["-m", "beam_pipeline", "build", str(images), "--output", str(args.folder / "data")]
    commands = {
        "hand-written": [str(HERE / "hand_written.py"), str(images), str(args.folder / "hand")],
        "build": [*build, "--overwrite", "--num-shards", "8"],
    }
    runs: dict[str, list[Figures]] = {name: [] for name in commands}
    for _ in range(args.runs):
        for name, command in commands.items():
            runs[name].append(measure([sys.executable, *command]))
    print(f"{'':14}{'wall s':>9}{'CPU s':>9}{'peak MiB':>10}   (medians of {args.runs})")
    for name, figures in runs.items():
        wall, cpu, peak = (
            statistics.median(column) for column in list(zip(*figures, strict=True))[:3]
        )
        print(f"{name:14}{wall:9.1f}{cpu:9.1f}{peak:10.0f}")
    pairs = list(zip(runs["build"], runs["hand-written"], strict=True))
    for title, field in (("wall", 0), ("CPU", 1)):
        ratios = sorted(one[field] / other[field] for one, other in pairs)
        print(f"ratio of {title}: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")


if __name__ == "__main__":
    main()
