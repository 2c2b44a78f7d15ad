"""TensorFlow Datasets and this project read each other's datasets.

A directory prepared by TFDS is adopted, and an adopted one is opened with TFDS.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from end_to_end.other_peoples_tfrecords.tutorial_files import (
    build_verified,
    examples,
    stored,
    taken_for,
    write,
)
from tiers import first_quick

import beam_pipeline
import trainer
from beam_pipeline.dataset.adoption import adopt

# TFDS 4.9 calls functions deprecated in protobuf 6.
tfds_warns = pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")


@pytest.fixture(scope="module")
def tfds():
    import tensorflow_datasets

    return tensorflow_datasets


@tfds_warns
def test_a_directory_that_tfds_prepared(tfds, tmp_path, digests):
    class Pets(tfds.core.GeneratorBasedBuilder, skip_registration=True):
        VERSION = tfds.core.Version("2.1.0")
        code_path = None  # TFDS would search for it with a package that it does not require

        def _info(self):
            return self.dataset_info_from_configs(
                features=tfds.features.FeaturesDict(
                    {
                        "image": tfds.features.Image(shape=(None, None, 3)),
                        "label": tfds.features.ClassLabel(names=["cat", "dog"]),
                        "weight": tfds.features.Tensor(shape=(3,), dtype=np.float32),
                    }
                )
            )

        def _split_generators(self, manager):
            return {"train": self._generate_examples(0, 9), "test": self._generate_examples(9, 12)}

        def _generate_examples(self, first, last):
            for number in range(first, last):
                image = np.random.default_rng(number).integers(0, 256, (12, 16, 3), np.uint8)
                weight = np.full(3, number, np.float32)
                yield number, {"image": image, "label": number % 2, "weight": weight}

    builder = Pets(data_dir=tmp_path, file_format="tfrecord")
    builder.download_and_prepare()
    directory = Path(builder.data_dir)
    before = digests(directory)
    info = adopt(str(directory))

    assert (info.metadata["name"], info.metadata["version"]) == ("pets", "2.1.0")
    assert {split: info.num_records(split) for split in info.splits} == {"test": 3, "train": 9}
    assert info.classes == ("cat", "dog")
    assert taken_for(info) == {
        "image": "image",
        "label": "class_label",
        "weight": "tensor [3]",
    }
    after = digests(directory)
    assert {name: after[name] for name in before} == before
    assert beam_pipeline.verify(info) == []
    opened = trainer.open(directory)
    assert list(opened.classes) == ["cat", "dog"]
    theirs = tfds.as_numpy(builder.as_dataset(split="test", shuffle_files=False))
    for one, other in zip(opened.numpy("test", image_dtype="uint8"), theirs, strict=True):
        for name in ("image", "label", "weight"):
            np.testing.assert_array_equal(one[name], other[name])

    built = build_verified(directory, tmp_path / "built")
    assert Counter(stored(built)) == Counter(stored(info))
    assert {*built.splits} == {"train", "test"}


@tfds_warns
@pytest.mark.parametrize(
    "name", first_quick(["pets_train.record-{:05d}-of-00003", "train_{:05d}.tfrecord"])
)
def test_tfds_reads_what_was_adopted(tfds, tmp_path, name):
    names = [name.format(number) for number in range(3)]
    folder = tmp_path / "pets"
    folder.mkdir()
    payloads = examples("boxes")
    for number, each in enumerate(names):
        write(folder, payloads[number :: len(names)], name=each, files=1)
    adopt(str(folder))

    builder = tfds.builder_from_directory(str(folder))
    assert builder.info.splits["train"].num_examples == len(payloads)
    read = list(tfds.as_numpy(builder.as_dataset(split="train", shuffle_files=False)))
    ours = list(trainer.open(folder).numpy("train", image_dtype="uint8"))
    for one, other in zip(ours, read, strict=True):
        assert one.keys() == other.keys()
        for key in one:
            np.testing.assert_array_equal(one[key], other[key])
