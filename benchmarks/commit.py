"""What the commit costs one worker: many shards and many rejects.

    python benchmarks/commit.py [--shards 48000] [--rejects 1000000] [--store] [--workers 4]

Makes empty shards with their indexes, local ones or objects of the tests' store, which runs in a
process of its own, and commits them. With workers, each a process, these sort the rejects and make
the moves before, as on a cluster. Prints the seconds and CPU seconds of the commit, and the most
memory that the process has held, its own and those of each worker; of a store also the requests of
each kind.
"""

import argparse
import collections
import concurrent.futures
import functools
import hashlib
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from beam_pipeline import BuildConfig
from beam_pipeline.assign.placement import SplitPlan
from beam_pipeline.assign.plan import Plan
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.describe.shard_info import ShardInfo, TemporaryFile
from beam_pipeline.files import storage
from beam_pipeline.records import Rejected
from beam_pipeline.running.pickling import pack
from beam_pipeline.running.spill import spilling
from beam_pipeline.write.commit import commit
from beam_pipeline.write.final_files import move, shared_moves
from beam_pipeline.write.rejects import (
    RejectsRange,
    divided,
    range_starts,
    sorted_here,
    sorted_range,
)
from beam_pipeline.write.sink import split_sink
from beam_pipeline.write.working_directory import working_dir

_TESTS = Path(__file__).parent.parent / "tests"
_SERVER = """
import json, sys
sys.path.insert(0, sys.argv[1])
from fake_store import FakeStore
store = FakeStore()
bucket = store.new_bucket()
print(json.dumps([store.environment(), bucket]), flush=True)
for line in sys.stdin:
    for path in json.loads(line):
        store.put(path, b"")
    print(json.dumps(store.calls), flush=True)
"""
_BATCH = 1_000
_NOTHING = hashlib.sha256(b"").hexdigest()


def main() -> None:
    """Makes the files, commits them, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shards", type=int, default=48_000)
    parser.add_argument("--rejects", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=0, help="0: the commit does all")
    parser.add_argument("--store", action="store_true", help="an object store, not a folder")
    args = parser.parse_args()
    if not args.store:
        with tempfile.TemporaryDirectory() as folder:
            config = BuildConfig(output=folder, name="many")
            shards = shard_infos(config, args.shards)
            for path in paths_of(shards):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                Path(path).touch()
            measure(config, shards, args.rejects, args.workers)
        return
    command = [sys.executable, "-c", _SERVER, str(_TESTS)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin
        assert server.stdout
        environment, bucket = json.loads(server.stdout.readline())
        os.environ.update(environment)
        config = BuildConfig(output=f"s3://{bucket}/out", name="many")
        shards = shard_infos(config, args.shards)

        def ask(paths: list[str]) -> dict[str, int]:
            print(json.dumps(paths), file=server.stdin, flush=True)
            counts: dict[str, int] = json.loads(server.stdout.readline())
            return counts

        before = ask(paths_of(shards))
        measure(config, shards, args.rejects, args.workers)
        calls = collections.Counter(ask([]))
        calls.subtract(before)
        print(*(f"{name} {count:,}" for name, count in sorted((+calls).items())), sep=", ")
        server.stdin.close()


def shard_infos(config: BuildConfig, number: int) -> list[ShardInfo]:
    """Finished shards of one record each, in the working directory."""
    folder, sink = working_dir(config), split_sink(config, "train")
    infos = []
    for shard in range(number):
        file = sink.final_name(shard, number)
        places = {
            file: f"{folder}/train/{shard:05d}.tfrecord",
            f"index/{file}.parquet": f"{folder}/index/{shard}.parquet",
            f"idx/{file}.idx": f"{folder}/index/{shard}.idx",
        }
        infos.append(
            ShardInfo(
                split="train",
                shard=shard,
                file=file,
                num_records=1,
                num_bytes=0,
                sha256=_NOTHING,
                temporary={
                    final: TemporaryFile(path, 0, _NOTHING) for final, path in places.items()
                },
            )
        )
    return infos


def paths_of(shards: list[ShardInfo]) -> list[str]:
    """Where all files of the shards lie."""
    return [file.path for info in shards for file in info.temporary.values()]


def rejects(number: int) -> Iterator[list[Rejected]]:
    """Batches of rejects, in no order."""
    for start in range(0, number, _BATCH):
        yield [
            Rejected(
                source=f"photos/{each * 7919 % number:07d}.jpg",
                reason="cannot be decoded",
                detail="truncated",
            )
            for each in range(start, min(number, start + _BATCH))
        ]


_T = TypeVar("_T")
_U = TypeVar("_U")


def spent(call: Callable[[_T], _U], item: _T) -> tuple[int, float, _U]:
    """(the process, CPU seconds, what `call` gives)."""
    before = time.process_time()
    found = call(item)
    return os.getpid(), time.process_time() - before, found


class Workers:
    """Processes that share calls, and what each has done.

    Attributes:
        cpu_s: CPU seconds of each, by process.
        calls: By the name of the call, how many each has made.
    """

    def __init__(self, number: int):
        context = multiprocessing.get_context("spawn")
        self._pool = concurrent.futures.ProcessPoolExecutor(number, context)
        self.cpu_s: collections.Counter[int] = collections.Counter()
        self.calls: dict[str, collections.Counter[int]] = {}

    def share(self, name: str, call: Callable[[_T], _U], items: Iterable[_T]) -> list[_U]:
        """What a call gives of each item."""
        results = list(self._pool.map(functools.partial(spent, call), items))
        self.calls[name] = collections.Counter(process for process, _, _ in results)
        for process, cpu_s, _ in results:
            self.cpu_s[process] += cpu_s
        return [found for _, _, found in results]

    def close(self) -> None:
        """Ends them, and prints what they did."""
        self._pool.shutdown()
        print("workers:", *(f"{cpu_s:.1f}" for cpu_s in self.cpu_s.values()), "CPU s")
        for name, counts in self.calls.items():
            print(f"{name}:", *counts.values())


def _divided(starts: list[tuple[str, ...]], batch: bytes) -> list[tuple[int, bytes]]:
    return list(divided([batch], starts))


def _sorted(keyed: tuple[int, list[bytes]]) -> RejectsRange:
    return sorted_range(*keyed)


def shared_ranges(
    batches: list[bytes], statistics: Statistics, workers: Workers
) -> list[RejectsRange]:
    """The rejects in ranges, each sorted by a worker."""
    by_range = collections.defaultdict(list)
    divide = functools.partial(_divided, range_starts(statistics))
    for parts in workers.share("batches of rejects", divide, batches):
        for number, packed in parts:
            by_range[number].append(packed)
    ranges = workers.share("ranges of rejects", _sorted, by_range.items())
    print(f"at most {max(each.count for each in ranges):,} rejects in a range")
    return ranges


def measure(config: BuildConfig, shards: list[ShardInfo], num_rejects: int, workers: int) -> None:
    """Commits, and prints what that took."""
    number = len(shards)
    split = SplitPlan(
        num_records=number,
        num_bytes=0,
        first_bins=tuple(range(number)),
        first_records=tuple(range(number)),
    )
    plan = Plan(splits={"train": split}, schema=(), numbers_ids=True, problem=None)
    statistics = Statistics()
    batches = []
    for batch in rejects(num_rejects):
        for each in batch:
            statistics.add_rejected(each)
        batches.append(pack(batch))
    start_s, start_cpu_s = time.monotonic(), time.process_time()
    with spilling() as spill:
        if workers:
            shared = Workers(workers)
            ranges = shared_ranges(batches, statistics, shared)
            own_s = time.process_time()
            files = {final: file for info in shards for final, file in info.temporary.items()}
            shares = list(shared_moves(config, files))
            print(f"to decide: {time.process_time() - own_s:.1f} CPU s")
            moved = shared.share("batches of moves", functools.partial(move, config), shares)
            start_cpu_s = time.process_time()
            commit(config, plan, statistics, shards, ranges, number + num_rejects, moved)
        else:
            ranges = sorted_here(map(spill.put, batches), statistics, spill)
            commit(config, plan, statistics, shards, ranges, number + num_rejects, spill=spill)
    spent_s, cpu_s = time.monotonic() - start_s, time.process_time() - start_cpu_s
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    metadata = storage.size(f"{config.dataset_dir}/metadata.json") or 0
    print(
        f"{number:,} shards, {num_rejects:,} rejects: {spent_s:.1f} s, {cpu_s:.1f} CPU s, "
        f"at most {peak_mib:.0f} MiB; metadata.json {metadata / 2**20:.1f} MiB"
    )
    if workers:
        shared.close()


if __name__ == "__main__":
    main()
