"""Files as tutorials write them are trained on: inputs beside a target, by `fit` and by hand."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import trainer
from trainer.__main__ import main

NUM_CLASSES = 3


@pytest.mark.slow
def test_training_by_fit_and_by_hand(tmp_path, tutorial, write_tutorial):
    dataset = trainer.open(write_tutorial(tmp_path, tutorial))
    batches = dataset.batches(
        batch_size=2,
        target=tutorial.target,
        features=[name for name, each in dataset.features.items() if each.kind != "text"],
        shuffle=True,
        seed=0,
        **tutorial.batching,
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


# What more is asked of `train` for each, and what it says.
COMMANDS = {
    "1 image": ("", "task classification: from image (image) to label (class_label)"),
    "2 image and metadata": ("", "task image_metadata: from image (image), metadata (tensor of"),
    "3 sequence": ("", "task sequence_classification: from sequence (sequence of int64) to label"),
    "4 sequence of a given length": ("--pad sequence=4", "task sequence_classification: "),
    "5 audio": (
        "--target speaker_id --devices cpu:2",
        "task audio_classification: from audio (audio) to speaker_id (scalar of int64)",
    ),
    "7 raw array": ("", "task array_classification: from image (tensor of float32) to label"),
    "8 several files": (
        "",
        "left out: caption (text), height (scalar of int64), width (scalar of int64)",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_training_and_evaluating_by_the_commands(tmp_path, tutorials, write_tutorial, capsys, name):
    options, said = COMMANDS[name]
    data = ["--data", write_tutorial(tmp_path, tutorials[name]), "--devices", "cpu"]
    steps = ["--epochs", "1", "--steps-per-epoch", "2", "--batch-size", "2"]
    sized = ["--image-size", "16"] if "image_size" in tutorials[name].batching else []
    run = str(tmp_path / "run")

    assert main(["train", *data, "--output", run, *steps, *sized, *options.split()]) == 0
    assert said in capsys.readouterr().err
    assert main(["evaluate", *data, "--run", run]) == 0
    assert json.loads(capsys.readouterr().out)["num_records"] == 5
