"""Arguments of `Dataset.batches`, and its elements: inputs, target and weight."""

import numpy as np
import pytest
import tensorflow as tf

import trainer
from trainer.tensors import positive


@pytest.mark.parametrize(
    "options",
    [{"image_size": [8, 8]}, {"image_size": np.int64(8)}, {"repeat": np.int32(1)}],
)
def test_what_is_taken(dataset, options):
    usual = dataset.batches("train", image_size=8)
    found = dataset.batches("train", **{"image_size": 8, **options})
    assert found.element_spec == usual.element_spec
    assert found.cardinality() == usual.cardinality() == 2


@pytest.mark.parametrize(
    ("argument", "value", "wanted"),
    [
        ("repeat", 0, "a number of passes, 1 or more, or True for endless"),
        ("repeat", 1.5, "a number of passes"),
        ("repeat", "2", "a number of passes"),
        ("repeat", None, "a number of passes"),
        ("repeat", -1, "a number of passes"),
        ("first_record", -1, "a whole number, 0 or more"),
        *(
            ("image_size", value, r"a side in pixels \(64\), or \(height, width\)")
            for value in ("64", (4, 5, 3), (4,), 2.5, (4, 2.5), 0, (0, 4), -1, True)
        ),
        *(("batch_size", value, "a whole number, 1 or more") for value in ("32", 2.5, 0, True)),
        ("shuffle_buffer", 2.5, "a whole number, 1 or more"),
        ("first_record", 2.5, "a whole number, 0 or more"),
        ("seed", "0", "a whole number, that fits into 64 bits"),
        ("seed", 2**70, "a whole number, that fits into 64 bits"),
    ],
)
def test_what_is_refused(dataset, argument, value, wanted):
    with pytest.raises(trainer.ConfigError, match=f"^{argument}=.*: give {wanted}"):
        dataset.batches("train", **{"image_size": 8, argument: value})


@pytest.fixture
def weighted(tmp_path, write_records):
    """Three records with two inputs, a label and two weights."""
    write_records(
        tmp_path / "a.tfrecord",
        [
            {"a": float(n), "b": [n, n], "label": n, "weight": n / 2, "count": n, "s": b"s"}
            for n in range(3)
        ],
    )
    return trainer.open(tmp_path / "a.tfrecord")


@pytest.mark.parametrize(
    ("weight", "expected"),
    [pytest.param("weight", [0, 0.5, 1], id="float"), pytest.param("count", [0, 1, 2], id="int")],
)
def test_weights_come_third_and_are_not_an_input(weighted, weight, expected):
    (batch,) = weighted.batches(
        features=["a", "b", "label", weight], target="label", sample_weight=weight
    )

    inputs, label, weights = batch
    assert set(inputs) == {"a", "b"}
    assert label.numpy().tolist() == [0, 1, 2]
    assert weights.dtype == tf.float32
    assert weights.numpy().tolist() == expected


def test_a_weight_of_one_record(weighted):
    inputs, _, weight = next(
        weighted.batches(
            batch_size=None,
            features=["a", "label", "weight"],
            target="label",
            sample_weight="weight",
        ).as_numpy_iterator()
    )

    assert (np.shape(inputs), np.shape(weight)) == ((), ())


def test_a_weight_is_finite_and_not_negative():
    def in_pipeline(*weights):
        batches = tf.data.Dataset.from_tensors(tf.constant(weights))
        return next(iter(batches.map(lambda batch: positive("x", batch)))).numpy().tolist()

    assert in_pipeline(0.0, 1.0, 2.5) == [0, 1, 2.5]
    assert in_pipeline(0.0, 0.0) == [0, 0]
    for weight in ("-1", "nan", "inf", "-inf"):
        message = rf"x of a record is not a weight; .*\[{weight}\]"
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            in_pipeline(1.0, float(weight))


def test_a_float_is_a_target_as_good(weighted):
    (batch,) = weighted.batches(features=["b", "a"], target="a")

    assert batch[1].numpy().tolist() == [0, 1, 2]


def test_boxes_as_the_target_come_with_all_that_they_have(directory_of):
    batches = trainer.open(directory_of("boxes")).batches("train", image_size=8, target="boxes")

    inputs, target = next(iter(batches))

    assert set(inputs) == {"image", "weight"}
    assert set(target) == {"boxes", "labels"}
    assert target["boxes"].shape[:2] == target["labels"].shape


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_size": 8}, "image_size needs an image, but there is none among the features a, b"),
        ({"augment": lambda image, seed: image}, "augment needs an image"),
        ({"audio_sample_rates": {"a": 8000}}, "unknown audio 'a' in audio_sample_rates"),
    ],
)
def test_options_of_images_and_audio_that_are_not_read(weighted, options, message):
    with pytest.raises(trainer.ConfigError, match=f"^{message}.*leave it out$"):
        weighted.batches(**options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "sample_weight='weight' needs a target to weigh"),
        ({"target": "label", "sample_weight": "weigth"}, "did you mean 'weight'"),
        (
            {"target": "label", "sample_weight": "s"},
            "number per record for sample_weight 's'",
        ),
        ({"target": "label", "sample_weight": "b"}, "sample_weight 'b'"),
        ({"target": "label", "sample_weight": "label"}, "sample_weight 'label'"),
    ],
)
def test_wrong_weights(weighted, arguments, message):
    with pytest.raises(trainer.ConfigError, match=message):
        weighted.batches(**{"sample_weight": "weight", **arguments})


def test_options_leave_what_users_combine_with_the_batches_as_it_was(dataset):
    usual = tf.data.Dataset.range(7).options()
    batches = dataset.batches("train", image_size=8, deterministic=False)

    combined = tf.data.Dataset.zip(batches, tf.data.Dataset.range(7)).options()

    assert combined.deterministic == usual.deterministic
    assert combined.autotune == usual.autotune
    # TensorFlow's default would divide the records wrongly among workers.
    policy = combined.experimental_distribute.auto_shard_policy
    assert policy == tf.data.experimental.AutoShardPolicy.DATA
