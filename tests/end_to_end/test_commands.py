"""The commands, one after the other, as a user types them."""

import json

from PIL import Image


def test_from_images_to_a_trained_model(class_folders, tmp_path, command):
    class_folders(tmp_path / "pets", classes=("cat", "dog"), each=12)

    done = command(
        *("beam_pipeline", "build", "pets", "--output", "data"),
        *("--split", "train=0.6,test=0.4", "--num-shards", "2"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    directory = done.stdout.splitlines()[-1]
    assert directory == str(tmp_path / "data/pets/1.0.0")
    assert "2 classes: cat, dog" in done.stderr

    done = command("beam_pipeline", "verify", directory, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "24 records in 4 shards of 2 splits: no problems" in done.stdout

    done = command(
        "beam_pipeline", "show", directory, "--images", "shown", "--limit", 2, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "image/class/text" in done.stdout
    images = sorted((tmp_path / "shown").iterdir())
    assert len(images) == 4
    assert all(str(path.name) in done.stdout for path in images)
    for path in images:
        Image.open(path).verify()

    done = command(
        *("trainer", "train", "--data", "data/pets", "--output", "run", "--epochs", 1),
        *("--batch-size", 4, "--image-size", 16, "--devices", "cpu:2", "--seed", 1),
        *("--validation-split", "test"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    trained = json.loads(done.stdout.splitlines()[-1])
    assert trained["loss"] > 0
    assert (tmp_path / "run/history.csv").exists()

    done = command("trainer", "evaluate", "--data", "data/pets", "--run", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    evaluated = json.loads(done.stdout.splitlines()[-1])
    assert 0 <= evaluated["accuracy"] <= 1


def test_wrong_usage_is_said_in_a_line_each(tmp_path, command):
    for arguments, told in (
        (["build", "nowhere", "--output", "out"], "nowhere"),
        (["build", ".", "--output", "out", "--num-shrads", "2"], "did you mean --num-shards?"),
        (["fly"], "invalid choice: 'fly'"),
    ):
        done = command("beam_pipeline", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.startswith("error: ")
        assert told in done.stderr
        assert "Traceback" not in done.stderr
        assert not list(tmp_path.iterdir())
