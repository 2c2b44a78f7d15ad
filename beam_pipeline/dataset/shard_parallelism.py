"""Work on a dataset's shards, several at once where that pays."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from beam_pipeline.files import storage
from beam_pipeline.running.parallel import map_threads, start_processes
from beam_pipeline.running.runner import Job

_T = TypeVar("_T")
_R = TypeVar("_R")

_REMOTE_SHARDS_AT_ONCE = 16
# Below this, processes take longer to start than they save.
_FEW_BYTES = 8 << 20


def map_shards(
    function: Callable[[_T], _R], shards: Sequence[_T], paths: Sequence[str], job: Job
) -> list[_R]:
    """`function` of every shard, in their order.

    Args:
        function: Runs in worker processes, where the shards are large and local.
        shards: What it takes of each shard.
        paths: Where the shards lie.
        job: The processes that may be started.
    """
    if any(map(storage.is_remote, paths)):
        return list(map_threads(function, shards, _REMOTE_SHARDS_AT_ONCE))
    if sum(size or 0 for size in storage.sizes(paths)) < _FEW_BYTES:
        return list(map(function, shards))
    return list(start_processes(max(1, job.processes)).ahead().map(function, shards))
