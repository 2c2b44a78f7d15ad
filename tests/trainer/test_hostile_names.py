"""Hostile names in datasets, files and rows cannot control the terminal."""

import re
import subprocess
import sys

import pytest

# Clears the screen, names the window, uses 8-bit codes, reverses text, and forges a line.
EVIL = "e\x1b[2J\x1b]0;n\x07\x9b31m\u202e\r\nerror: x"
CONTROL = re.compile("[^\n\t\x20-\x7e\xa0-\u200d\u2010-\u2027\u202f-\u2065\u206a-\U0010ffff]")


@pytest.fixture(scope="module")
def run():
    """run(command, *arguments) -> exit code and output, which must be printable."""

    def run(*arguments):
        command = [sys.executable, "-m", "trainer", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True)
        text = done.stdout.decode() + done.stderr.decode()
        assert not (found := CONTROL.findall(text)), (found, text)
        assert b"\nerror: x" not in done.stderr, text
        return done.returncode, text

    return run


@pytest.fixture(scope="module")
def dataset(tmp_path_factory, write_dataset, schema, colored_records):
    """A dataset of images with hostile names of folder, features, keys, classes and splits."""
    features = [
        schema["image"],
        schema["label"] | {"name": EVIL, "key": EVIL, "classes": [EVIL, "green", "red"]},
        schema["number"],
    ]
    records = [
        {EVIL if key == "image/class/label" else key: value for key, value in record.items()}
        | {"image/filename": EVIL.encode()}
        for record in colored_records(24)
    ]
    root = tmp_path_factory.mktemp("data") / EVIL / "1.0.0"
    return write_dataset(root, features, {EVIL: records, "test": records[:6]})


TRAIN = ("--epochs", 1, "--steps-per-epoch", 2, "--batch-size", 4, "--image-size", 16)


@pytest.fixture(scope="module")
def trained(dataset, run, tmp_path_factory):
    """A run trained on the dataset, and its output."""
    output = tmp_path_factory.mktemp("runs") / EVIL
    code, text = run(
        *("train", "--data", dataset, "--output", output, "--train-split", EVIL, *TRAIN),
        *("--target", EVIL, "--devices", "cpu"),
    )
    assert code == 0, text
    return output


@pytest.mark.slow
def test_every_command(dataset, trained, run, tmp_path):
    (tmp_path / f"{EVIL}.png").write_bytes(b"no image")
    (tmp_path / "rows.csv").write_text(f'image\n"{EVIL}"\n', newline="")
    for code, *arguments in (
        (0, "evaluate", "--data", dataset, "--run", trained, "--report", tmp_path / "r"),
        (0, "predict", "--run", trained, dataset, "--split", "test"),
        (0, "predict", "--run", trained, dataset, "--format", "csv"),
        (3, "predict", "--run", trained, tmp_path / f"{EVIL}.png"),
        (3, "predict", "--run", trained, tmp_path / "rows.csv"),
        (0, "export", "--run", trained, "--output", tmp_path / EVIL / "1"),
        (
            *(0, "tune", dataset, "--seconds", "0.1"),
            *("--train-split", "test", "--target", EVIL),
        ),
        (2, "train", "--data", dataset, "--output", trained),
        (2, "train", "--data", dataset, "--output", tmp_path / "x", "--target", f"{EVIL}x"),
        (2, "train", "--data", tmp_path / EVIL, "--output", tmp_path / "x"),
        (2, "evaluate", "--data", dataset, "--run", trained, "--split", f"{EVIL}x"),
        (2, "evaluate", "--data", dataset, "--run", tmp_path / EVIL),
        (2, EVIL),
        (2, "train", "--data", dataset, "--output", "x", "--epochs", EVIL),
    ):
        found, text = run(*arguments, *(["--debug"] if code else []))
        assert found == code, (arguments, text)


@pytest.mark.slow
def test_damaged_records(dataset, run, tmp_path, write_dataset, schema, colored_records):
    """TensorFlow's messages and log name the key."""
    records = colored_records(8)
    key = EVIL.partition("\r")[0]
    features = [schema["image"], schema["number"] | {"name": key, "key": key, "dtype": "int64"}]
    for number, value in enumerate(([b"text"], [1.5], [1, 2], [])):
        data = write_dataset(
            tmp_path / f"{number}" / "1.0.0",
            features,
            {"train": [record | {key: value} for record in records]},
        )
        code, text = run(
            "train", "--data", data, "--output", tmp_path / "run", *TRAIN, "--target", key
        )
        assert code == 3, text
