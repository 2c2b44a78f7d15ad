"""README.md: the dataset for people, and for Hugging Face's `datasets`."""

from collections.abc import Mapping, Sequence

from tfrecord_dataset.metadata import ShardEntry

FILE = "README.md"


def card(name: str, version: str, shards: Mapping[str, Sequence[ShardEntry]]) -> str:
    """The text of README.md, for the shards of each split.

    Its head says that the shards are the data: else `datasets.load_dataset` takes the index, the
    only files that it knows, for them.
    """
    splits = "".join(
        f"| {split} | {sum(shard.num_records for shard in entries)} | {len(entries)} |\n"
        for split, entries in shards.items()
    )
    return (
        f"---\nconfigs:\n- config_name: default\n  data_files: {name}-*.tfrecord-*\n---\n\n"
        f"# {name} {version}\n\n"
        "TFRecords made by beam-tfrecords. `metadata.json` describes them; `index/` has a row per\n"
        "record in Parquet, `rejects.jsonl` what was left out.\n\n"
        f"| split | records | shards |\n|---|---|---|\n{splits}"
    )
