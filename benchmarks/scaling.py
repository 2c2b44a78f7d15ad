"""Measures how a build's time, CPU and memory grow with the number of records.

    python benchmarks/scaling.py [--records 1000 10000] [--picture FILE.svg] [-- BEAM OPTIONS]

Builds from tiny images in tars: each record is a byte range, so that the cost per record dominates,
not decoding. Prints a table. Arguments after `--` go to Beam, for instance
`--runner=FlinkRunner --flink_master=localhost:8081`; with `--parallelism 1 2 4` each build runs
once per value. CPU and memory cover the processes of the build and those of `--processes` with all
their descendants, such as a cluster's on this machine. Memory is the total PSS, sampled every
50 ms. Linux only.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from memory import tars
from process_tree import Figures, measure

WIDTH, HEIGHT, MARGIN, LEGEND = 720, 400, 60, 170
COLOURS = {"wall s": "#0b6e99", "CPU s": "#d9730d", "peak MiB": "#4d6461"}
DASHES = ("", "7 4", "2 4", "9 3 2 3")
LABEL_HEIGHT = 15

# By parallelism ("" if not given), then by the number of records.
Rows = dict[str, dict[int, Figures]]


def main() -> None:
    """Makes missing inputs, builds each and prints the table."""
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    beam = sys.argv[end + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--parallelism", nargs="+", default=[""])
    parser.add_argument("--processes", type=int, nargs="+", default=[])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "memory"))
    parser.add_argument("--picture", type=Path, help="an SVG file to draw the figures to")
    args = parser.parse_args(sys.argv[1:end])
    titles = f"{'parallelism':>12}{'records':>11}{'wall s':>9}{'CPU s':>9}{'peak MiB':>10}"
    print(f"{titles}{'more CPU µs':>13}{'more bytes':>12}   (a record, to the row above)")
    rows: Rows = {parallelism: {} for parallelism in args.parallelism}
    for count in sorted(args.records):
        path = args.folder / f"tars_{count}"
        if not path.exists():
            tars(path, count)
        build = ["-m", "beam_pipeline", "build", str(path), "--output", str(args.folder / "data")]
        for parallelism, runs in rows.items():
            options = [*beam, *([f"--parallelism={parallelism}"] if parallelism else [])]
            command = [sys.executable, *build, "--overwrite", *options]
            runs[count] = measure(command, args.processes)
            print(f"{parallelism:>12}{line(count, runs)}{growth(count, runs)}", flush=True)
    if args.picture:
        args.picture.write_text(picture(rows))


def line(count: int, runs: Mapping[int, Figures]) -> str:
    """A row of the table."""
    wall, cpu, peak, _ = runs[count]
    return f"{count:11,}{wall:9.1f}{cpu:9.1f}{peak:10.0f}"


def growth(count: int, runs: Mapping[int, Figures]) -> str:
    """Marginal cost per record, compared with the next smaller run."""
    fewer = max((other for other in runs if other < count), default=0)
    if not fewer:
        return ""
    more = count - fewer
    cpu_us = (runs[count].cpu_s - runs[fewer].cpu_s) / more * 1e6
    num_bytes = (runs[count].peak_mib - runs[fewer].peak_mib) / more * 2**20
    return f"{cpu_us:13.0f}{num_bytes:12.0f}"


def picture(rows: Rows) -> str:
    """The figures as an SVG with logarithmic axes and a dash pattern per parallelism."""
    runs = [figures for by_count in rows.values() for figures in by_count.values()]
    counts = sorted({count for by_count in rows.values() for count in by_count})
    xs = scale(counts, MARGIN, WIDTH - LEGEND)
    values = [value for figures in runs for value in figures[:3]]
    ys = scale(values, HEIGHT - MARGIN, MARGIN / 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *axes(counts, values, xs, ys),
    ]
    labels = []
    for dashes, (parallelism, by_count) in zip(DASHES, rows.items(), strict=False):
        for place, (title, colour) in enumerate(COLOURS.items()):
            points = [(xs(count), ys(by_count[count][place])) for count in by_count]
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            parts.append(
                f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"'
                f' stroke-dasharray="{dashes}"/>'
            )
            parts += (
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points
            )
            text = f"{title}, parallelism {parallelism}" if parallelism else title
            labels.append((points[-1][1], colour, text))
    lowest = 0.0
    for y, colour, text in sorted(labels):
        lowest = max(y + 4, lowest + LABEL_HEIGHT)
        parts.append(
            f'<text x="{WIDTH - LEGEND + 10}" y="{lowest:.0f}" fill="{colour}">{text}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def axes(
    counts: Iterable[int],
    values: Iterable[float],
    xs: Callable[[float], float],
    ys: Callable[[float], float],
) -> list[str]:
    """Grid lines and labels at the powers of ten."""
    parts = []
    for power in powers(counts):
        parts.append(
            f'<path d="M{xs(power):.0f} {MARGIN / 2}V{HEIGHT - MARGIN}" stroke="#ddd"/>'
            f'<text x="{xs(power):.0f}" y="{HEIGHT - MARGIN + 20}" text-anchor="middle">'
            f"{power:,.0f}</text>"
        )
    for power in powers(values):
        parts.append(
            f'<path d="M{MARGIN} {ys(power):.0f}H{WIDTH - LEGEND}" stroke="#ddd"/>'
            f'<text x="{MARGIN - 6}" y="{ys(power) + 4:.0f}" text-anchor="end">{power:,.0f}</text>'
        )
    middle = (MARGIN + WIDTH - LEGEND) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle">records</text>')
    return parts


def powers(values: Iterable[float]) -> list[float]:
    """The powers of ten around `values`."""
    logarithms = [math.log10(value) for value in values]
    first, last = math.floor(min(logarithms)), math.ceil(max(logarithms))
    return [10.0**power for power in range(first, last + 1)]


def scale(values: Iterable[float], start: float, end: float) -> Callable[[float], float]:
    """Map from a value to a position in `start`..`end` on a logarithmic axis."""
    ends = powers(values)
    low, high = math.log10(ends[0]), math.log10(ends[-1])
    return lambda value: start + (math.log10(value) - low) / ((high - low) or 1) * (end - start)


if __name__ == "__main__":
    main()
