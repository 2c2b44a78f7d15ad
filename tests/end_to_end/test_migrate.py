"""docs/migrate.md: what stands before and now is run, and yields the same."""

import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from end_to_end.inputs_of_guides import EXAMPLES
from end_to_end.inputs_of_pages import write_table
from end_to_end.test_readme import NOISE

import beam_pipeline
import trainer
from beam_pipeline.dataset.reading import read_examples
from tfrecord_dataset.format.example import decode

_PAGE = (Path(__file__).parents[2] / "docs/migrate.md").read_text()
_FENCE = re.compile(r"^```(bash|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# TFDS's own code warns.
pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]


@pytest.fixture
def run(tmp_path, command):
    """run(heading) -> the folder in which the snippets of a section were run, without `but`."""
    (tmp_path / "examples").symlink_to(EXAMPLES)

    def run(heading, but="nothing of this name"):
        section = _PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
        for language, code in _FENCE.findall(section):
            if language == "bash":
                (words,) = filter(None, (shlex.split(line, True) for line in code.splitlines()))
                done = command(*words[2:], cwd=tmp_path)
                assert not NOISE.search(done.stderr), (code, done.stderr)
            elif but in code:
                continue
            else:
                (tmp_path / "snippet.py").write_text(code)
                words = [sys.executable, "snippet.py"]
                done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, (code, done.stderr)
        return tmp_path

    return run


def test_a_builder_of_tfds(run):
    folder = run("TFDS builders")
    old = tfds.builder_from_directory(folder / "tfds/cells/1.0.0").as_dataset(split="train")
    before = Counter((int(each["label"]), each["image"].numpy().tobytes()) for each in old)
    new = trainer.open(folder / "data/cells")
    now = Counter(
        (int(record["label"]), record["image"].tobytes())
        for split in new.splits
        for record in new.numpy(split, image_dtype="uint8")
    )
    assert before.total() == 720
    assert now == before


def test_create_tf_record(run):
    folder = run("create_tf_record.py")
    records = tf.data.TFRecordDataset(str(folder / "train.record"))
    before = {
        bytes(each["image/encoded"][0]): each for each in map(decode, records.as_numpy_iterator())
    }
    assert len(before) == 40
    for record in read_examples(beam_pipeline.open(str(folder / "data/blood")), "train"):
        old = before.pop(bytes(record["image/encoded"][0]))
        for key, values in old.items():
            assert list(record[key]) == pytest.approx(list(values)), key
    assert not before


def test_the_table_of_tfrecorder(run, tmp_path):
    images = sorted(EXAMPLES.glob("data/cells/*/*.jpg"))[::30]
    splits = ("TRAIN", "VALIDATION", "TEST")
    rows = [
        (splits[number % 3], path.relative_to(EXAMPLES.parent), path.parent.name)
        for number, path in enumerate(images)
    ]
    write_table(tmp_path / "rows.csv", [("split", "image_uri", "label"), *rows])
    dataset = trainer.open(run("TFRecorder", but="tfrecorder") / "data/rows")
    assert {name.upper(): dataset.num_records(name) for name in dataset.splits} == Counter(
        split for split, _, _ in rows
    )
    assert dataset.classes == ["Platelets", "RBC", "WBC"]


def test_image_dataset_from_directory(run):
    dataset = trainer.open(run("image_dataset_from_directory") / "data/cells")
    assert dataset.num_records("train") + dataset.num_records("validation") == 720
