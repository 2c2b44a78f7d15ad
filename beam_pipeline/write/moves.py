"""Moves that workers share: on a store a commit copies each file, three a shard.

One worker takes the dataset's lease and decides what goes where; others copy, a batch each, under
the same lease; the commit takes it over and does the rest. Where the lease was lost on the way, the
commit moves all by itself. It gives the lease back once the finished shards are deleted, so that a
worker whom the runner took for dead, and whose batch another one has copied, finds nothing to copy.
"""

import uuid
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.files import storage
from beam_pipeline.write.final_files import Place, share_of_workers
from beam_pipeline.write.working_directory import shared_commit_lease

# Of a store that takes 50 ms, 64 at once: some 0.4 s, where to join a lease takes 0.15 s.
FILES_A_BATCH = 500


class Moves(NamedTuple):
    """A batch of moves.

    Attributes:
        lease: The owner of the lease under which they are made.
        places: Where each file lies, and where it goes.
    """

    lease: str
    places: list[Place]


def shared_moves(config: BuildConfig, files: Mapping[str, TemporaryFile]) -> Iterator[Moves]:
    """What workers are to move: one batch at least, if the lease was taken.

    Args:
        config: The build's.
        files: Finished files, by path in the dataset's directory. Few are not worth sharing, nor
            are links of local files.
    """
    if len(files) <= 2 * FILES_A_BATCH or not storage.is_remote(config.dataset_dir):
        return
    owner = uuid.uuid4().hex
    with shared_commit_lease(config, owner, joins=False):
        places = share_of_workers(config, files)
    for start in range(0, max(1, len(places)), FILES_A_BATCH):
        yield Moves(owner, places[start : start + FILES_A_BATCH])


def move(config: BuildConfig, moves: Moves) -> Moves:
    """Moves a batch; repeated, it does so again. Returns what was moved: nothing without a lease.

    Raises:
        BeamTFRecordsError: The lease was lost meanwhile.
        FileNotFoundError: A file is gone.
    """
    with shared_commit_lease(config, moves.lease, joins=True) as is_held:
        if not is_held:
            return moves._replace(places=[])
        storage.place_all(moves.places)
    return moves
