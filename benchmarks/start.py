"""Measures how long `build` takes to reach its first record.

    python benchmarks/start.py INPUT [--runs 5]

Prints the median seconds from the launch of a new process. Each run is a copy of
`python -m beam_pipeline build` that exits at the first record. Linux only.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from process_tree import ENVIRONMENT

END_AT_FIRST_RECORD = """
import os, sys, time
from beam_pipeline.cli import program

class EndAtFirstRecord:
    # Not before the commands are imported: what is imported earlier would change the start.
    def find_spec(self, name, path, target=None):
        if name == "beam_pipeline.cli.commands":
            from beam_pipeline.running import batches
            batches.BatchElements.process = end

def end(self, element):
    print(time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)
    os._exit(0)

sys.meta_path.insert(0, EndAtFirstRecord())
sys.argv[0] = "build"
program.main()
"""


def main() -> None:
    """Starts the build several times and prints the median."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("input", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    seconds, cpu_seconds = [], []
    with tempfile.TemporaryDirectory() as output:
        command = [sys.executable, "-c", END_AT_FIRST_RECORD, "build", str(args.input)]
        for _ in range(args.runs + 1):  # the first one compiles and warms the disk's cache
            before, cpu = time.clock_gettime(time.CLOCK_MONOTONIC), os.times()
            done = subprocess.run(
                [*command, "--output", output],
                check=True,
                capture_output=True,
                text=True,
                env=ENVIRONMENT,
            )
            seconds.append(float(done.stdout) - before)
            spent = os.times()
            cpu_seconds.append(spent.children_user - cpu.children_user)
    print(f"first record after {statistics.median(seconds[1:]):.2f} s")
    print(f"CPU seconds of the launching process: {statistics.median(cpu_seconds[1:]):.2f}")


if __name__ == "__main__":
    main()
