"""What an older build wrote goes, and nothing else."""

from pathlib import Path

import pytest

from beam_pipeline import BuildConfig
from beam_pipeline.write.final_files import clear_older_build

SHARD = "pets-train.tfrecord-00000-of-00005"
CURRENT = "pets-train.tfrecord-00000-of-00002"


@pytest.mark.parametrize(
    ("file", "goes"),
    [
        ("metadata.json", True),
        (SHARD, True),
        (f"index/{SHARD}.parquet", True),
        (f"index/{SHARD}.idx", True),
        ("image.class.label.labels.txt", True),
        ("label_map.pbtxt", True),
        ("features.json", True),
        ("rejects.jsonl", True),
        ("failed-rejects.jsonl", True),
        (f"features.json.{'0a' * 16}.partial", True),
        (CURRENT, False),
        (f"index/{CURRENT}.idx", False),
        ("notes.txt", False),
        (f"{SHARD}.bak", False),
        (f"index/old-{SHARD}.idx", False),
        (SHARD.replace("pets", "cats"), False),
        (f"mine/{SHARD}", False),
        ("download.partial", False),
    ],
)
def test_clear_older_build(tmp_path, file, goes):
    config = BuildConfig(output=str(tmp_path), name="pets")
    path = Path(config.dataset_dir, file)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"older")
    clear_older_build(config, keep={CURRENT, f"index/{CURRENT}.idx"})
    assert path.exists() != goes
