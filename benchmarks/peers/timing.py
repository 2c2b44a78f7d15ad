"""Times passes over the batches of one reader.

    PYTHONPATH=benchmarks python -m peers.timing ours FOLDER [--passes 2]

Prints one JSON object per pass: images, wall seconds, CPU seconds of all processes. The first pass,
in which threads and worker processes start, is left out.
"""

import argparse
import importlib
import json
import os
import time
from pathlib import Path
from typing import Any

from process_tree import cpu_s_with_children


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reader")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passes", type=int, default=2)
    args = parser.parse_args()
    batches = importlib.import_module(f"peers.{args.reader}").batches(args.folder)
    for number in range(args.passes + 1):
        told = one_pass(batches)
        if number:
            print(json.dumps(told), flush=True)


def one_pass(batches: Any) -> dict[str, float]:
    """Iterates over all batches of a pass; returns its figures."""
    wall_s, cpu_s, images = time.monotonic(), cpu_s_with_children(os.getpid()), 0
    for batch in batches:
        images += len(batch[0] if isinstance(batch, tuple | list) else batch)
    return {
        "images": images,
        "wall_s": time.monotonic() - wall_s,
        "cpu_s": cpu_s_with_children(os.getpid()) - cpu_s,
    }


if __name__ == "__main__":
    main()
