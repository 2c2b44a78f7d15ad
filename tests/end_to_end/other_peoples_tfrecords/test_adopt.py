"""Foreign TFRecords are adopted in place, and the trainer opens and splits them."""

import numpy as np
import tensorflow as tf
from end_to_end.other_peoples_tfrecords.tutorial_files import examples, jpeg, write
from tensorflow_examples import example

import trainer
from beam_pipeline.cli import commands
from beam_pipeline.dataset.adoption import adopt
from beam_pipeline.schema.declaration import parse_schema


def test_adopt_states_what_the_trainer_infers(tmp_path, schema):
    folder = write(tmp_path / "in", examples(schema))
    info = adopt(str(folder))
    bare = trainer.open(str(folder / "*.tfrecord"))
    fields = ("name", "kind", "dtype", "shape", "key", "format", "encoding", "bare")

    assert [feature.name for feature in info.schema] == list(bare.features)
    assert [[getattr(feature, field) for field in fields] for feature in info.schema] == [
        [getattr(bare.features[feature.name], field) for field in fields] for feature in info.schema
    ]
    described = trainer.open(folder)
    for one, other in zip(described.numpy("train"), bare.numpy("train"), strict=True):
        assert one.keys() == other.keys()
        for name in (feature.name for feature in info.schema):
            np.testing.assert_array_equal(one[name], other[name])


def test_show_draws_what_others_stored(tmp_path, capsys):
    box = [0.1, 0.2, 0.8, 0.9]
    payloads = [example(image=jpeg(0), label=1, boxes=np.array(box * count)) for count in (0, 1)]
    folder = write(tmp_path / "in", payloads, files=1)
    schema = parse_schema({"image": "image", "label": "class_label", "boxes": "boxes"})
    adopt(str(folder), schema=schema)
    shown = tmp_path / "shown"

    assert commands.main(["show", str(folder), "--images", str(shown)]) == 0
    assert "boxes  [0.1, 0.2, 0.8, 0.9]" in capsys.readouterr().out
    without, with_box = (
        tf.io.decode_jpeg((shown / f"train-0000{number}-record.jpg").read_bytes()).numpy()
        for number in (0, 1)
    )
    assert (without != with_box).any()
