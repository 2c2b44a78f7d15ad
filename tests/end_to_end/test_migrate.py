"""docs/migrate.md: the code before and after runs, and gives the same."""

from collections import Counter
from pathlib import Path

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from end_to_end import pages
from end_to_end.inputs_of_pages import EXAMPLES

import beam_pipeline
import trainer
from beam_pipeline.dataset.shards import read_examples
from tfrecord_dataset.format.example import decode

_PAGE = (Path(__file__).parents[2] / "docs/migrate.md").read_text()
# TFDS's own code warns.
pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]


@pytest.fixture
def run(tmp_path):
    """run(heading) -> the folder in which a section's snippets were run."""
    (tmp_path / "examples").symlink_to(EXAMPLES)

    def run(heading):
        def change(words):
            if "-c" not in words:
                return words
            (tmp_path / "snippet.py").write_text(words[-1])  # TFDS builders read their file
            return ["python", "snippet.py"]

        section = _PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
        pages.play(section, tmp_path, change)
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


def test_image_dataset_from_directory(run):
    dataset = trainer.open(run("image_dataset_from_directory") / "data/cells")
    assert dataset.num_records("train") + dataset.num_records("validation") == 720
