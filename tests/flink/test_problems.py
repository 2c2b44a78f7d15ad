"""On a cluster, bad data and concurrent builds are reported once, in one sentence."""

import pytest

import beam_pipeline
from beam_pipeline.errors import DataError

pytestmark = pytest.mark.nightly


def test_too_many_rejects(cluster, launch, tmp_path, class_folders):
    """One attempt, exit code 3, and the same message as on this machine."""
    source = class_folders(tmp_path / "pets", each=100)
    for number in range(3):
        (source / f"cat/broken-{number}.jpg").write_bytes(b"no image")

    code, text = launch(source, tmp_path / "good", "--max-bad-fraction=0.1").finish()
    assert code == 0, text
    assert "rejected: 3 × not an image" in text

    code, text = launch(source, tmp_path / "bad").finish()
    with pytest.raises(DataError) as here:
        beam_pipeline.build(
            beam_pipeline.BuildConfig(input=str(source), output=str(tmp_path / "here"))
        )
    message = str(here.value).partition(" [while running")[0]
    rejects = tmp_path / "bad/pets/1.0.0/rejects.jsonl"
    assert code == 3, text
    assert text.endswith(f"the rejects are listed in {rejects}\nerror: {message}\n")
    assert "Traceback" not in text
    assert cluster.failures(cluster.jobs()[0]) == []
    left = sorted(path.name for path in (tmp_path / "bad/pets").rglob("*"))
    assert left == ["1.0.0", "rejects.jsonl"]


def test_a_dataset_that_appeared_meanwhile_stays(cluster, launch, people, tmp_path, digests):
    other = beam_pipeline.build(
        beam_pipeline.BuildConfig(
            input=str(people), output=str(tmp_path / "other"), name="data", seed=7
        )
    )
    launcher = launch(people, tmp_path / "out", "--name=data")
    launcher.wait_for(" runs: http://")
    (tmp_path / "other/data/1.0.0").rename(tmp_path / "out/data/1.0.0")
    code, text = launcher.finish()
    assert code == 1, text
    assert "another build has written" in text
    assert "in the meantime; pass --overwrite to replace it" in text
    assert "Traceback" not in text
    kept = beam_pipeline.open(str(tmp_path / "out/data/1.0.0"))
    assert kept.metadata["fingerprint"] == other.metadata["fingerprint"]
