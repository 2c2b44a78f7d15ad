"""The dataset's directory at the commit: an older build's files go, this one's get their names."""

import re
from collections.abc import Collection, Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.describe.shard_info import ShardInfo
from beam_pipeline.files import storage
from beam_pipeline.write.rejects import REJECTS_FILE


def clear_older_build(config: BuildConfig, keep: Collection[str]) -> None:
    """Takes back the commit of an earlier build; deletes what it wrote and this one does not.

    Args:
        config: The build's.
        keep: The files of this build, by their path in the dataset's directory.
    """
    root = config.dataset_dir
    storage.delete([storage.join(root, metadata.FILE)])
    build_file = re.compile(
        rf"{re.escape(config.name)}-\w+\.tfrecord-\d{{5}}-of-\d{{5}}(\.parquet|\.idx)?"
        r"|.*\.labels\.txt|dataset_info\.json|features\.json|label_map\.pbtxt"
        rf"|(failed-)?{re.escape(REJECTS_FILE)}"
        r"|.*\.[0-9a-f]{32}\.partial"  # its writer was killed
    )
    stale = [
        storage.join(root, path)
        for folder in ("", "index/")
        for name in storage.list_dir(storage.join(root, folder))
        if build_file.fullmatch(name) and (path := folder + name) not in keep
    ]
    storage.delete_all(stale)


def rename_shards(config: BuildConfig, shards: Sequence[ShardInfo]) -> None:
    """Gives all files of the shards their final names; repeated, it goes on where it stopped."""
    storage.move_all(
        (temporary.path, storage.join(config.dataset_dir, final))
        for info in shards
        for final, temporary in info.temporary.items()
    )
