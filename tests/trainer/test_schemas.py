"""The records that tutorials write, made by TensorFlow alone: opened, batched, trained on.

Each kind of file is opened three ways: by what its records show, by a declaration in the form of
metadata.json, and by `tf.io` specs as `tf.io.parse_example` takes them.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import trainer

RANDOM = np.random.default_rng(0)
NUM_RECORDS = 5
NUM_CLASSES = 3
LABELS = [number % NUM_CLASSES for number in range(NUM_RECORDS)]


def _bytes_feature(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def _int64_feature(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def _float_feature(*values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


FIXED_STRING = tf.io.FixedLenFeature([], tf.string)
FIXED_INT64 = tf.io.FixedLenFeature([], tf.int64)
FIXED_FLOAT = tf.io.FixedLenFeature([], tf.float32)
CLASS_LABEL = {"kind": "class_label"}

JPEGS = [
    tf.io.encode_jpeg(RANDOM.integers(0, 255, (20 + number, 30, 3), np.uint8)).numpy()
    for number in range(NUM_RECORDS)
]
PIXELS = [np.float32(tf.io.decode_jpeg(jpeg)) / np.float32(255) for jpeg in JPEGS]
METADATA = RANDOM.normal(size=(NUM_RECORDS, 5)).astype(np.float32)
SEQUENCES = [np.arange(1, length + 1) for length in (4, 1, 0, 7, 3)]
CLIPS = [np.int16(RANDOM.integers(-999, 999, (100 + number, 1))) for number in range(NUM_RECORDS)]
WAVS = [tf.audio.encode_wav(clip / np.float32(32768), 8000).numpy() for clip in CLIPS]
BOXES = [np.float32(RANDOM.uniform(size=(count, 4))) for count in (2, 0, 1, 1, 0)]
ARRAYS = RANDOM.normal(size=(NUM_RECORDS, 64, 64)).astype(np.float32)
CAPTIONS = [f"Bild {number}: häßlich".encode() for number in range(NUM_RECORDS)]


@dataclasses.dataclass(frozen=True)
class Schema:
    """One kind of file.

    Attributes:
        records: Features by key, record by record.
        expected: What `numpy` must yield, record by record, by name.
        declared: The features as metadata.json has them.
        specs: As `tf.io.parse_example` takes them.
        batching: Arguments of `batches` for training.
        target: What is learned.
        files: Names of the files that the records are dealt out to.
    """

    records: list[dict[str, tf.train.Feature]]
    expected: list[dict[str, Any]]
    declared: Mapping[str, Mapping[str, Any]]
    specs: Mapping[str, Any]
    batching: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    target: str = "label"
    files: tuple[str, ...] = ("records.tfrecord",)


LABEL_RECORDS = [{"label": _int64_feature(label)} for label in LABELS]
LABEL_EXPECTED = [{"label": np.int64(label)} for label in LABELS]


def _with_labels(records, expected):
    return (
        [one | other for one, other in zip(records, LABEL_RECORDS, strict=True)],
        [one | other for one, other in zip(expected, LABEL_EXPECTED, strict=True)],
    )


SCHEMAS = {
    "1 image": Schema(
        *_with_labels(
            [{"image": _bytes_feature(jpeg)} for jpeg in JPEGS],
            [{"image": pixels} for pixels in PIXELS],
        ),
        declared={"image": {"kind": "image"}, "label": CLASS_LABEL},
        specs={"image": FIXED_STRING, "label": FIXED_INT64},
        batching={"image_size": 224},
    ),
    "2 image and metadata": Schema(
        *_with_labels(
            [
                {"image": _bytes_feature(jpeg), "metadata": _float_feature(*metadata)}
                for jpeg, metadata in zip(JPEGS, METADATA, strict=True)
            ],
            [
                {"image": pixels, "metadata": metadata}
                for pixels, metadata in zip(PIXELS, METADATA, strict=True)
            ],
        ),
        declared={
            "image": {"kind": "image"},
            "metadata": {"kind": "tensor", "dtype": "float32", "shape": [5]},
            "label": CLASS_LABEL,
        },
        specs={
            "image": FIXED_STRING,
            "metadata": tf.io.FixedLenFeature([5], tf.float32),
            "label": FIXED_INT64,
        },
        batching={"image_size": (16, 24)},
    ),
    "3 sequence": Schema(
        *_with_labels(
            [{"sequence": _int64_feature(*sequence)} for sequence in SEQUENCES],
            [{"sequence": sequence} for sequence in SEQUENCES],
        ),
        declared={"sequence": {"kind": "sequence", "dtype": "int64"}, "label": CLASS_LABEL},
        specs={"sequence": tf.io.VarLenFeature(tf.int64), "label": FIXED_INT64},
    ),
    "4 sequence of a given length": Schema(
        *_with_labels(
            [{"sequence": _int64_feature(*sequence)} for sequence in SEQUENCES],
            [{"sequence": sequence} for sequence in SEQUENCES],
        ),
        declared={"sequence": {"kind": "sequence", "dtype": "int64"}, "label": CLASS_LABEL},
        specs={"sequence": tf.io.RaggedFeature(tf.int64), "label": FIXED_INT64},
        batching={"pad": {"sequence": 4}, "padding_value": {"sequence": 9}, "truncate": True},
    ),
    "5 audio": Schema(
        [
            {
                "audio": _bytes_feature(wav),
                "speaker_id": _int64_feature(label),
                "timestamp": _float_feature(label / 2),
            }
            for wav, label in zip(WAVS, LABELS, strict=True)
        ],
        [
            {
                "audio": clip / np.float32(32768),
                "speaker_id": np.int64(label),
                "timestamp": np.float32(label / 2),
            }
            for clip, label in zip(CLIPS, LABELS, strict=True)
        ],
        declared={
            "audio": {"kind": "audio", "shape": [None, 1]},
            "speaker_id": {"kind": "scalar", "dtype": "int64"},
            "timestamp": {"kind": "scalar", "dtype": "float32"},
        },
        specs={"audio": FIXED_STRING, "speaker_id": FIXED_INT64, "timestamp": FIXED_FLOAT},
        target="speaker_id",
    ),
    "6 boxes": Schema(
        [
            {
                "image_raw": _bytes_feature(jpeg),
                "labels": _int64_feature(*range(len(boxes))),
                "bounding_boxes": _float_feature(*boxes.flatten()),
            }
            for jpeg, boxes in zip(JPEGS, BOXES, strict=True)
        ],
        [
            {"image_raw": pixels, "labels": np.arange(len(boxes)), "bounding_boxes": boxes}
            for pixels, boxes in zip(PIXELS, BOXES, strict=True)
        ],
        declared={
            "image_raw": {"kind": "image"},
            "labels": {"kind": "class_label", "shape": [None]},
            "bounding_boxes": {"kind": "boxes"},
        },
        specs={
            "image_raw": FIXED_STRING,
            "labels": tf.io.VarLenFeature(tf.int64),
            "bounding_boxes": tf.io.FixedLenSequenceFeature([4], tf.float32, allow_missing=True),
        },
        batching={"image_size": 16, "pad": {"bounding_boxes": 3, "labels": 3}},
        target="bounding_boxes",
    ),
    "7 raw array": Schema(
        *_with_labels(
            [{"image": _bytes_feature(array.tobytes())} for array in ARRAYS],
            [{"image": array} for array in ARRAYS],
        ),
        declared={
            "image": {
                "kind": "tensor",
                "dtype": "float32",
                "shape": [64, 64],
                "encoding": "bytes",
            },
            "label": CLASS_LABEL,
        },
        specs={"image": FIXED_STRING, "label": FIXED_INT64},
    ),
    "8 several files": Schema(
        *_with_labels(
            [
                {
                    "image_raw": _bytes_feature(jpeg),
                    "height": _int64_feature(pixels.shape[0]),
                    "width": _int64_feature(pixels.shape[1]),
                    "caption": _bytes_feature(caption),
                }
                for jpeg, pixels, caption in zip(JPEGS, PIXELS, CAPTIONS, strict=True)
            ],
            [
                {
                    "image_raw": pixels,
                    "height": np.int64(pixels.shape[0]),
                    "width": np.int64(pixels.shape[1]),
                    "caption": caption,
                }
                for pixels, caption in zip(PIXELS, CAPTIONS, strict=True)
            ],
        ),
        declared={
            "image_raw": {"kind": "image"},
            "height": {"kind": "scalar", "dtype": "int64"},
            "width": {"kind": "scalar", "dtype": "int64"},
            "caption": {"kind": "text"},
            "label": CLASS_LABEL,
        },
        specs={
            "image_raw": FIXED_STRING,
            "height": FIXED_INT64,
            "width": FIXED_INT64,
            "caption": FIXED_STRING,
            "label": FIXED_INT64,
        },
        batching={"image_size": 16},
        files=("data_0.tfrecord", "data_1.tfrecord", "data_2.tfrecord"),
    ),
}
schemas = pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)


def _write(folder, schema, compression=""):
    """Deals the records out to files in turn; returns the glob that names the files."""
    examples = [
        tf.train.Example(features=tf.train.Features(feature=record)) for record in schema.records
    ]
    share = -(-len(examples) // len(schema.files))
    for number, file in enumerate(schema.files):
        with tf.io.TFRecordWriter(str(folder / file), options=compression) as writer:
            for example in examples[number * share : (number + 1) * share]:
                writer.write(example.SerializeToString())
    return str(folder / "*.tfrecord")


def _opened(files, schema, how):
    features = {"inferred": None, "declared": schema.declared, "specs": schema.specs}[how]
    return trainer.open(files, features=features)


def _model(inputs, target):
    """A little model of any numbers: a mean over what has no fixed length, then one layer."""
    leaves = {
        name: keras.Input(spec.shape[1:], dtype=spec.dtype.name, name=name)
        for name, spec in inputs.items()
    }
    vectors = [_vector(leaf, inputs[name]) for name, leaf in leaves.items()]
    joined = keras.layers.Concatenate()(vectors) if len(vectors) > 1 else vectors[0]
    is_class = target.dtype == tf.int64
    shape = (NUM_CLASSES,) if is_class else tuple(target.shape[1:])
    outputs = keras.layers.Reshape(shape)(keras.layers.Dense(int(np.prod(shape)))(joined))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True) if is_class else "mse"
    model = keras.Model(leaves if len(leaves) > 1 else next(iter(leaves.values())), outputs)
    model.compile("sgd", loss)
    return model


def _vector(leaf, spec):
    rank = len(spec.shape) - 1
    if rank == 0:
        return keras.layers.Reshape((1,))(leaf)
    if rank == 1 and spec.dtype == tf.int64:
        return keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(10, 4)(leaf))
    if rank == 1:
        return leaf
    if rank == 2:  # of sound that nobody declared, the number of channels is open, too
        mean = keras.ops.mean(leaf, axis=1)
        return mean if spec.shape[2] else keras.ops.mean(mean, axis=1, keepdims=True)
    return keras.layers.GlobalAveragePooling2D()(leaf)


@schemas
@pytest.mark.parametrize("how", ["inferred", "declared", "specs"])
@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_numpy_arrays_are_what_went_in(tmp_path, schema, how, compression):
    dataset = _opened(_write(tmp_path, schema, compression), schema, how)

    records = list(dataset.numpy())

    assert list(dataset.splits) == ["train"]
    assert dataset.num_records() == len(records) == NUM_RECORDS
    for record, expected in zip(records, schema.expected, strict=True):
        assert record.keys() == expected.keys()
        for name, value in expected.items():
            assert np.asarray(record[name]).dtype == np.asarray(value).dtype, name
            np.testing.assert_array_equal(record[name], value, name)


@schemas
@pytest.mark.parametrize("how", ["inferred", "declared", "specs"])
def test_batches_are_the_records_side_by_side(tmp_path, schema, how):
    dataset = _opened(_write(tmp_path, schema), schema, how)

    (batch,) = dataset.batches(batch_size=NUM_RECORDS, image_size=24)

    assert batch.keys() == schema.expected[0].keys()
    for name, column in batch.items():
        values = [record[name] for record in schema.expected]
        if dataset.features[name].kind == "image":
            values = [tf.image.resize(value, (24, 24)) for value in values]
            np.testing.assert_allclose(column, np.stack(values), atol=1e-6)
            continue
        fill = -1 if dataset.features[name].kind in ("boxes", "class_label") else 0
        np.testing.assert_array_equal(column, _stacked(values, fill), name)


def _stacked(values, fill):
    """Values one below the other, with `fill` behind those whose first axis is shorter."""
    if np.ndim(values[0]) == 0:
        return np.array(values)
    longest = max(map(len, values))
    return np.stack(
        [
            np.pad(
                value,
                [(0, longest - len(value))] + [(0, 0)] * (value.ndim - 1),
                constant_values=fill,
            )
            for value in values
        ]
    )


@schemas
def test_training_by_fit_and_by_hand(tmp_path, schema):
    dataset = trainer.open(_write(tmp_path, schema))
    batches = dataset.batches(
        batch_size=2,
        target=schema.target,
        features=[name for name, each in dataset.features.items() if each.kind != "text"],
        shuffle=True,
        seed=0,
        **schema.batching,
    )
    inputs, target = batches.element_spec
    keras.utils.set_random_seed(0)
    model = _model(inputs if isinstance(inputs, dict) else {"x": inputs}, target)
    before = [variable.numpy() for variable in model.trainable_variables]

    history = model.fit(batches, epochs=2, shuffle=False, verbose=0).history
    fitted = [variable.numpy() for variable in model.trainable_variables]
    losses = _train_by_hand(model, batches)

    assert np.isfinite(history["loss"]).all()
    assert np.isfinite(losses).all()
    assert len(losses) == 3  # batches of five records by two
    by_hand = [variable.numpy() for variable in model.trainable_variables]
    for one, other, third in zip(before, fitted, by_hand, strict=True):
        assert (one != other).any()
        assert (other != third).any()


def _train_by_hand(model, batches):
    optimizer = keras.optimizers.SGD()
    losses = []
    for inputs, target in batches:
        with tf.GradientTape() as tape:
            loss = model.compute_loss(y=target, y_pred=model(inputs, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        losses.append(float(loss))
    return losses


def test_images_are_resized_and_scaled(tmp_path):
    schema = SCHEMAS["1 image"]
    dataset = trainer.open(_write(tmp_path, schema))

    images, labels = next(
        iter(dataset.batches(batch_size=NUM_RECORDS, image_size=224, target="label"))
    )

    assert images.shape == (NUM_RECORDS, 224, 224, 3)
    for image, pixels in zip(images, PIXELS, strict=True):
        np.testing.assert_allclose(image, tf.image.resize(pixels, (224, 224)), atol=1e-6)
    assert labels.numpy().tolist() == LABELS
    assert dataset.num_classes("label") == NUM_CLASSES


def test_image_and_metadata_are_a_dict_beside_the_label(tmp_path):
    dataset = trainer.open(_write(tmp_path, SCHEMAS["2 image and metadata"]))

    inputs, label = next(iter(dataset.batches(target="label", image_size=8)))

    assert set(inputs) == {"image", "metadata"}
    np.testing.assert_array_equal(inputs["metadata"], METADATA)
    assert label.numpy().tolist() == LABELS


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            {"pad": {"sequence": 8}, "padding_value": 9},
            [[1, 2, 3, 4, 9, 9, 9, 9], [1, 9, 9, 9, 9, 9, 9, 9], [9] * 8],
            id="padded",
        ),
        pytest.param(
            {"pad": {"sequence": 3}, "padding_value": {"sequence": 7}, "truncate": True},
            [[1, 2, 3], [1, 7, 7], [7, 7, 7]],
            id="truncated",
        ),
    ],
)
def test_sequences_of_a_given_length(tmp_path, arguments, expected):
    dataset = trainer.open(_write(tmp_path, SCHEMAS["4 sequence of a given length"]))

    batches = dataset.batches(batch_size=3, target="label", **arguments)

    assert batches.element_spec[0].shape.as_list() == [None, len(expected[0])]
    assert next(iter(batches))[0].numpy().tolist() == expected


def test_a_longer_sequence_is_an_error_where_nobody_asked_to_cut_it(tmp_path):
    dataset = trainer.open(_write(tmp_path, SCHEMAS["4 sequence of a given length"]))

    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"sequence of a record is longer than the 6 that pad.*truncate=True.*\[7\]",
    ):
        list(dataset.batches(pad={"sequence": 6}))


def test_a_raw_square_is_said_to_be_a_guess(tmp_path, caplog):
    dataset = trainer.open(_write(tmp_path, SCHEMAS["7 raw array"]))

    (note,) = dataset.notes
    assert "image: 16,384 raw bytes a record are taken for float32 [64, 64]" in note
    assert [(each.name, each.levelname, each.message) for each in caplog.records] == [
        ("trainer", "WARNING", note)
    ]


def test_a_raw_array_of_a_declared_shape(tmp_path, caplog):
    files = _write(tmp_path, SCHEMAS["7 raw array"])
    declared = {"image": {"kind": "tensor", "dtype": "float32", "shape": [32, 128]}}

    dataset = trainer.open(files, features=declared)

    for record, array in zip(dataset.numpy(), ARRAYS, strict=True):
        np.testing.assert_array_equal(record["image"], array.reshape(32, 128))
    assert dataset.notes == ()
    assert caplog.records == []


def test_boxes_are_padded_where_a_record_has_fewer_or_none(tmp_path):
    dataset = trainer.open(
        _write(tmp_path, SCHEMAS["6 boxes"]), features=SCHEMAS["6 boxes"].declared
    )

    batch = next(iter(dataset.batches(batch_size=2, image_size=8)))

    assert batch["bounding_boxes"].shape == (2, 2, 4)
    np.testing.assert_array_equal(batch["bounding_boxes"][0], BOXES[0])
    np.testing.assert_array_equal(batch["bounding_boxes"][1], np.full((2, 4), -1))
    assert batch["labels"].numpy().tolist() == [[0, 1], [-1, -1]]
