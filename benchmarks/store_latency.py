"""Measures how much store latency a build hides, compared with sequential reads.

    python benchmarks/store_latency.py [--count 3000] [--kilobytes 10] [--latency-ms 5] [--runs 3]

The store is the tests' fake, in its own process, which waits before each response. A build reads
each image twice. The cost of latency is the time with latency minus the time without.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import obstore
from PIL import Image

TESTS = Path(__file__).parent.parent / "tests"
SERVER = """
import json, sys
sys.path.insert(0, sys.argv[1])
from fake_store import FakeStore
store = FakeStore()
print(json.dumps([store.environment(), store.new_bucket()]), flush=True)
for line in sys.stdin:
    store.latency_s = float(line)
    print(flush=True)
"""


def main() -> None:
    """Fills the store, measures alternately and prints the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--kilobytes", type=int, default=10)
    parser.add_argument("--latency-ms", type=float, default=5)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    command = [sys.executable, "-c", SERVER, str(TESTS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        try:
            measure(args, run)
        finally:
            run.terminate()


def measure(args: argparse.Namespace, server: Any) -> None:
    """Prints the table."""
    environment, bucket = json.loads(server.stdout.readline())
    os.environ.update(environment)
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tfrecord_dataset.store.clients import client_and_key

    client, _ = client_and_key(f"s3://{bucket}/in")
    store = client.store
    keys = [f"in/{number % 2}/{number:06d}.jpg" for number in range(args.count)]
    for number, key in enumerate(keys):
        obstore.put(store, key, image(number, args.kilobytes))

    def latency(seconds: float) -> None:
        server.stdin.write(f"{seconds}\n")
        server.stdin.flush()
        server.stdout.readline()

    def one_after_another() -> None:
        for key in keys:
            obstore.get(store, key).bytes()

    def build() -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "beam_pipeline", "build", f"s3://{bucket}/in"]
            subprocess.run([*command, "--output", folder], check=True, capture_output=True)

    times: dict[str, list[float]] = {}
    for _ in range(args.runs):
        for seconds in (0.0, args.latency_ms / 1000):
            latency(seconds)
            for name, run in (("one after another", one_after_another), ("build", build)):
                times.setdefault(f"{name}, {1000 * seconds:g} ms", []).append(timed(run))
    medians = {name: statistics.median(each) for name, each in times.items()}
    for name, seconds in medians.items():
        print(f"{name:28} {seconds:6.2f} s")
    without, reads, with_latency, build_with = medians.values()
    waiting = 2 * (with_latency - without)
    print(f"latency of {2 * args.count:,} reads: {waiting:.2f} s one after another, ", end="")
    print(f"{build_with - reads:.2f} s in a build: {waiting / (build_with - reads):.1f}x less")


def timed(call: Callable[[], None]) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def image(number: int, kilobytes: int) -> bytes:
    """A JPEG of noise of about that size."""
    side = int((kilobytes * 1024 / 1.3) ** 0.5)
    pixels = np.random.default_rng(number).integers(0, 256, (side, side), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


if __name__ == "__main__":
    main()
