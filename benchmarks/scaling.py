"""How a build's time, CPU and memory grow with the number of records.

    python benchmarks/scaling.py [--records 1000 10000] [--picture FILE.svg] [-- BEAM OPTIONS]

Builds from tiny images in tars: each record is a byte range, so that what a record itself costs
shows, not its decoding. Prints a table. What follows `--` goes to Beam, for instance
`--runner=FlinkRunner --flink_master=localhost:8081 --parallelism=4`; time is the launcher's then,
and CPU and memory are those of the processes that it starts itself. Memory is the sum of the
memory that is theirs (PSS), looked at every 50 ms. Linux only.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from against_hand_written import Figures, measure
from memory import tars

WIDTH, HEIGHT, MARGIN = 640, 400, 60
COLOURS = {"wall s": "#0b6e99", "CPU s": "#d9730d", "peak MiB": "#4d6461"}


def main() -> None:
    """Makes the inputs where they are missing, builds each, prints the table."""
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    beam = sys.argv[end + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "memory"))
    parser.add_argument("--picture", type=Path, help="an SVG file to draw the figures to")
    args = parser.parse_args(sys.argv[1:end])
    titles = f"{'records':>11}{'wall s':>9}{'CPU s':>9}{'peak MiB':>10}"
    print(f"{titles}{'more CPU µs':>13}{'more bytes':>12}   (a record, to the row above)")
    rows: dict[int, Figures] = {}
    for count in sorted(args.records):
        path = tars(args.folder / f"tars_{count}", count)
        build = ["-m", "beam_pipeline", "build", str(path), "--output", str(args.folder / "data")]
        rows[count] = measure([sys.executable, *build, "--overwrite", *beam])
        print(f"{line(count, rows)}{growth(count, rows)}", flush=True)
    if args.picture:
        args.picture.write_text(picture(rows))


def line(count: int, rows: dict[int, Figures]) -> str:
    """A row of the table."""
    wall, cpu, peak = rows[count]
    return f"{count:11,}{wall:9.1f}{cpu:9.1f}{peak:10.0f}"


def growth(count: int, rows: dict[int, Figures]) -> str:
    """What each record costs more, compared with the run of fewer ones."""
    fewer = max((other for other in rows if other < count), default=0)
    if not fewer:
        return ""
    more = count - fewer
    cpu_us = (rows[count].cpu_s - rows[fewer].cpu_s) / more * 1e6
    num_bytes = (rows[count].peak_mib - rows[fewer].peak_mib) / more * 2**20
    return f"{cpu_us:13.0f}{num_bytes:12.0f}"


def picture(rows: dict[int, Figures]) -> str:
    """The figures as an SVG, both axes logarithmic."""
    columns = dict(zip(COLOURS, zip(*rows.values(), strict=True), strict=True))
    values = [value for column in columns.values() for value in column]
    xs = scale(rows, MARGIN, WIDTH - 2 * MARGIN)
    ys = scale(values, HEIGHT - MARGIN, MARGIN / 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for power in powers(rows):
        parts.append(
            f'<path d="M{xs(power):.0f} {MARGIN / 2}V{HEIGHT - MARGIN}" stroke="#ddd"/>'
            f'<text x="{xs(power):.0f}" y="{HEIGHT - MARGIN + 20}" text-anchor="middle">'
            f"{power:,.0f}</text>"
        )
    for power in powers(values):
        parts.append(
            f'<path d="M{MARGIN} {ys(power):.0f}H{WIDTH - 2 * MARGIN}" stroke="#ddd"/>'
            f'<text x="{MARGIN - 6}" y="{ys(power) + 4:.0f}" text-anchor="end">{power:,.0f}</text>'
        )
    parts.append(
        f'<text x="{WIDTH / 2 - MARGIN / 2}" y="{HEIGHT - 14}" text-anchor="middle">records</text>'
    )
    for title, column in columns.items():
        points = [(xs(count), ys(value)) for count, value in zip(rows, column, strict=True)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{COLOURS[title]}" stroke-width="2"/>')
        parts += (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[title]}"/>' for x, y in points
        )
        x, y = points[-1]
        parts.append(
            f'<text x="{x + 10:.0f}" y="{y + 4:.0f}" fill="{COLOURS[title]}">{title}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def powers(values: Iterable[float]) -> list[float]:
    """The powers of ten about `values`."""
    logarithms = [math.log10(value) for value in values]
    first, last = math.floor(min(logarithms)), math.ceil(max(logarithms))
    return [10.0**power for power in range(first, last + 1)]


def scale(values: Iterable[float], start: float, end: float) -> Callable[[float], float]:
    """Where a value lies between `start` and `end`, on a logarithmic axis about `values`."""
    ends = powers(values)
    low, high = math.log10(ends[0]), math.log10(ends[-1])
    return lambda value: start + (math.log10(value) - low) / ((high - low) or 1) * (end - start)


if __name__ == "__main__":
    main()
