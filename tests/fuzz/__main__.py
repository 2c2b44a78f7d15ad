"""`python -m fuzz [FORMAT …] --count N`: a table of the outcomes of cases."""

import argparse
import sys
from pathlib import Path

from fuzz import running
from fuzz.targets import FORMATS


def main() -> int:
    """Prints the table, and faults as they are found; returns 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("formats", nargs="*", help="default: all")
    parser.add_argument("--count", type=int, default=300, help="cases of each (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="the first (default: 0)")
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"), help="folder of faults")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        name, start, stop = arguments.child
        running.child(name, range(int(start), int(stop)))
        return 0
    print("| format | cases | taken | rejected | errors | slowest ms | peak MB | faults |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    num_faults = 0
    for name in arguments.formats or FORMATS:
        count = max(1, arguments.count // FORMATS[name].cases_for_one)
        seeds = range(arguments.seed, arguments.seed + count)
        made = running.run(name, seeds, arguments.found)
        for seed, what in made.faults[:20]:
            print(f"{name} {seed}: {what}\n", file=sys.stderr, flush=True)
        num_faults += len(made.faults)
        counts = [made.outcomes.total(), *map(made.outcomes.__getitem__, running.OUTCOMES)]
        figures = [*counts, made.slowest_ms, made.peak_mb, len(made.faults)]
        print(f"| {name} | {' | '.join(f'{figure:,.0f}' for figure in figures)} |", flush=True)
    return int(num_faults > 0)


if __name__ == "__main__":
    sys.exit(main())
