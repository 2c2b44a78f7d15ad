"""On a store the workers of a cluster share the moves of the commit."""

import beam_pipeline
from beam_pipeline import BuildConfig
from beam_pipeline.write.final_files import FILES_A_BATCH

NUM_SHARDS = 1000
NUM_FILES = 3 * NUM_SHARDS


def test_workers_share_the_moves(cluster, launch, bucket, people, tmp_path, digests):
    url, store = bucket
    launcher = launch(
        people,
        f"{url}/out",
        "--name=data",
        f"--num-shards={NUM_SHARDS}",
        "--send_store_credentials",
    )
    here = beam_pipeline.build(
        BuildConfig(
            input=str(people), output=str(tmp_path / "here"), name="data", num_shards=NUM_SHARDS
        )
    )
    code, text = launcher.finish()
    assert code == 0, text
    prefix = f"{url}/out/".partition("://")[2]
    for key, data in store.objects.items():
        path = tmp_path / "there" / key.removeprefix(prefix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert digests(tmp_path / "there/data/1.0.0") == digests(here.path)
    assert [path.name for path in (tmp_path / "there/data").iterdir()] == ["1.0.0"]

    assert f"files moved {NUM_FILES:,}" in text
    assert store.calls["copy"] == NUM_FILES + 1, "rejects.jsonl"
    batches = cluster.records_by_slot(cluster.jobs()[0], "Commit/Move")
    assert sum(batches) == NUM_FILES / FILES_A_BATCH
    assert max(batches) < sum(batches), batches
