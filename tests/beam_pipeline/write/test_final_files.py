"""Replacing a dataset deletes only files that builds write."""

import pytest

from beam_pipeline import BuildConfig
from beam_pipeline.write.final_files import is_build_file

SHARD = "pets-train.tfrecord-00000-of-00005"


@pytest.mark.parametrize(
    ("file", "goes"),
    [
        ("metadata.json", True),
        (SHARD, True),
        (f"index/{SHARD}.parquet", True),
        (f"index/{SHARD}.idx", True),
        (f"idx/{SHARD}.idx", True),
        (f"{SHARD}.gz", True),
        (f"index/{SHARD}.gz.parquet", True),
        ("image.class.label.labels.txt", True),
        ("label_map.pbtxt", True),
        ("label_map.csv", True),
        ("features.json", True),
        ("report.html", True),
        ("rejects.jsonl", True),
        ("failed-rejects.jsonl", True),
        (f"features.json.{'0a' * 16}.partial", True),
        ("notes.txt", False),
        (f"{SHARD}.bak", False),
        (f"idx/old-{SHARD}.idx", False),
        (SHARD.replace("pets", "cats"), False),
        (f"mine/{SHARD}", False),
        ("download.partial", False),
    ],
)
def test_is_build_file(file, goes):
    config = BuildConfig(output="/out", name="pets")
    assert is_build_file(config, file) == goes
