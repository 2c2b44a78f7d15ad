"""Shards are worked on in worker processes where they are large, else here."""

import os

import pytest

from beam_pipeline.dataset import shard_parallelism
from beam_pipeline.running.parallel import end_processes
from beam_pipeline.running.runner import Job


@pytest.mark.parametrize("large", [False, True])
def test_map_shards(tmp_path, monkeypatch, large):
    paths = [str(tmp_path / name) for name in ("a", "b", "missing")]
    for path in paths[:2]:
        with open(path, "wb") as file:
            file.write(bytes(6))
    monkeypatch.setattr(shard_parallelism, "_FEW_BYTES", 12 if large else 13)
    try:
        done = shard_parallelism.map_shards(
            lambda shard: (shard, os.getpid()), [1, 2, 3], paths, Job(processes=2)
        )
    finally:
        end_processes()
    assert [shard for shard, _ in done] == [1, 2, 3]
    assert all((process != os.getpid()) == large for _, process in done)
