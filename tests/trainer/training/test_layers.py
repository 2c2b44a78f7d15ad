"""Batch normalisation and random layers on several replicas."""

import dataclasses
import functools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from following import Follower
from tiers import first_in_ci

import trainer
from trainer.commands import main
from trainer.training import layers, loop
from trainer.training.layers import seeding

MOMENTUM = 0.5


def normalized(task=None, *, synchronized=False):
    """A model that normalises the images, and then features of them."""
    options = {"momentum": MOMENTUM, "synchronized": synchronized}
    return keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            keras.layers.BatchNormalization(**options),
            keras.layers.Conv2D(4, 3, strides=2),
            keras.layers.BatchNormalization(**options),
            keras.layers.Flatten(),
            keras.layers.Dense(3),
        ]
    )


def trained(make_plan, strategy, *, synchronized):
    model = functools.partial(normalized, synchronized=synchronized)
    plan = make_plan(strategy, model=model, steps_per_epoch=5)
    loop.run(plan, Follower(plan, range(1)))
    return plan.model.get_weights()


@pytest.mark.slow
def test_synchronised_two_replicas_learn_what_one_learns(make_plan, one_replica, two_replicas):
    one = trained(make_plan, one_replica, synchronized=False)
    two = trained(make_plan, two_replicas, synchronized=True)
    apart = trained(make_plan, two_replicas, synchronized=False)

    # Another order of sums changes the rounding, which five steps amplify.
    for mine, theirs in zip(two, one, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-4)
    assert max(np.abs(mine - theirs).max() for mine, theirs in zip(apart, one, strict=True)) > 1e-3


@pytest.mark.slow
def test_else_the_statistics_are_those_of_the_first_replicas_part(make_plan, two_replicas):
    plan = make_plan(two_replicas, model=normalized, steps_per_epoch=1)
    ((inputs, _),) = plan.batches_from(0).take(1)
    halves = [plan.task.prepare(inputs)[part].numpy() for part in (slice(0, 4), slice(4, 8))]
    average = plan.model.layers[0].moving_mean
    by_replica = two_replicas.experimental_local_results

    loop.run(plan, Follower(plan, range(1)))

    found = [each.numpy() for each in by_replica(average.value)]
    means = [(1 - MOMENTUM) * half.mean(axis=(0, 1, 2)) for half in halves]
    np.testing.assert_allclose(found, means, rtol=1e-5)
    np.testing.assert_array_equal(average.numpy(), found[0])  # the saved value
    layers.equaliser(plan.model, two_replicas)()
    for each in by_replica(average.value):
        np.testing.assert_array_equal(each, found[0])


@pytest.mark.nightly
def test_a_run_validates_the_model_that_it_saves(colors, tmp_path, capsys):
    options = {"batch_size": 8, "image_size": 16, "steps_per_epoch": 3, "seed": 1}
    options |= {"devices": "cpu:2", "deterministic": True}
    row = trainer.train(colors, tmp_path / "run", model=normalized, epochs=2, **options)

    assert "runs over the 4 records of each replica" in capsys.readouterr().err
    command = ["evaluate", "--data", colors, "--run", tmp_path / "run", "--split", "validation"]
    assert main([str(each) for each in [*command, "--devices", "cpu", "--quiet"]]) == 0
    assert json.loads(capsys.readouterr().out)["loss"] == pytest.approx(row["val_loss"], rel=1e-5)


def test_models_without_batch_normalisation_have_nothing_apart(make_plan, two_replicas):
    plan = make_plan(two_replicas)

    assert not layers.is_apart(plan.model)
    assert layers.equaliser(plan.model, two_replicas)() is None
    assert layers.is_apart(normalized())


L = keras.layers


class OwnNoise(keras.layers.Layer):
    """A user's layer, with several generators of its own."""

    def __init__(self):
        super().__init__()
        self.generators = [keras.random.SeedGenerator(7), keras.random.SeedGenerator(8)]

    def call(self, x, training=False):
        if not training:
            return x
        first, second = (keras.random.normal(keras.ops.shape(x), seed=g) for g in self.generators)
        return x + first * second


# The layer, and its input shape for 8 x 8 x 3 pixels.
IMAGE = (8, 8, 3)
LAYERS = {
    "Dropout": (lambda: L.Dropout(0.5), IMAGE),
    "SpatialDropout2D": (lambda: L.SpatialDropout2D(0.5), (4, 4, 12)),
    "GaussianNoise": (lambda: L.GaussianNoise(0.5), IMAGE),
    "RandomCrop": (lambda: L.RandomCrop(5, 6), IMAGE),
    "RandomFlip": (lambda: L.RandomFlip(), IMAGE),
    "own": (OwnNoise, IMAGE),
}
EACH = 4  # examples per part


def weighed(layers):
    """A model that sums random layers' outputs, so that gradients show what they drew."""
    image = keras.Input(IMAGE)
    sums = []
    for name, (layer, shape) in layers.items():
        x = L.Flatten()(layer()(L.Reshape(shape)(image)))
        sums.append(L.Dense(1, use_bias=False, kernel_initializer="zeros", name=name)(x))
    return keras.Model(image, L.Add()(sums))


def drawn(make_plan, strategy, layers, seed=1):
    """Return what layers drew for every replica in the first step: {name: [bytes, …]}.

    Every replica has the same images, and changes the weights once, without the others.
    """
    count = strategy.num_replicas_in_sync
    plan = make_plan(strategy, lambda: keras.optimizers.SGD(1.0), model=lambda: weighed(layers))
    images = np.random.default_rng(1).integers(0, 256, (EACH, *IMAGE), np.uint8)
    weights = np.repeat(np.eye(count, dtype=np.float32), EACH, axis=1)
    batches = tf.data.Dataset.from_tensor_slices(weights).map(
        lambda weight: (
            {"image": tf.tile(images, [count, 1, 1, 1])},
            tf.zeros([count * EACH], tf.int64),
            weight,
        )
    )
    plan = dataclasses.replace(
        plan,
        task=dataclasses.replace(plan.task, loss_fn=lambda target, outputs: outputs[:, 0]),
        batches=lambda first_record: batches,
        batch_size=count * EACH,
        times_input=False,
    )
    plan = dataclasses.replace(plan, seed_layers=seeding(plan.model, plan.optimizer, seed))
    train, iterator = loop.train_function(plan), iter(plan.distributed_batches(0))
    found = {name: [] for name in layers}
    for _ in range(count):
        plan.optimizer.iterations.assign(0)
        for weight in plan.model.trainable_variables:
            weight.assign(tf.zeros_like(weight))
        train(iterator, tf.constant(1), tf.constant(0.0))
        for name in layers:
            found[name].append(plan.model.get_layer(name).kernel.numpy().tobytes())
    return found


FEW = {name: LAYERS[name] for name in ("Dropout", "own")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layers", "replicas"),
    first_in_ci(
        [pytest.param(LAYERS, 2, id="all layers"), pytest.param(FEW, 4, id="more replicas")]
    ),
)
def test_each_replica_has_its_own_numbers(make_plan, on_replicas, layers, replicas):
    found = drawn(make_plan, on_replicas(replicas), layers)

    assert {name: len(set(each)) for name, each in found.items()} == dict.fromkeys(layers, replicas)


@pytest.mark.slow
def test_replicas_draw_by_the_seed(make_plan, two_replicas):
    first, again, other = (drawn(make_plan, two_replicas, FEW, seed) for seed in (1, 1, 2))

    assert first == again
    for name in FEW:
        assert len({*first[name], *other[name]}) == 4
