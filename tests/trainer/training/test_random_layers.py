"""Random layers draw by (seed, step, replica, part of a step), however compiled."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from following import Follower

from trainer.training import loop
from trainer.training.random_numbers import seed_by_step

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
    "SpatialDropout1D": (lambda: L.SpatialDropout1D(0.5), (8, 24)),
    "SpatialDropout2D": (lambda: L.SpatialDropout2D(0.5), (4, 4, 12)),
    "SpatialDropout3D": (lambda: L.SpatialDropout3D(0.5), (2, 2, 2, 24)),
    "GaussianDropout": (lambda: L.GaussianDropout(0.5), IMAGE),
    "GaussianNoise": (lambda: L.GaussianNoise(0.5), IMAGE),
    "AlphaDropout": (lambda: L.AlphaDropout(0.5), IMAGE),
    "RandomBrightness": (lambda: L.RandomBrightness(0.5, (0, 1)), IMAGE),
    "RandomContrast": (lambda: L.RandomContrast(0.5, (0, 1)), IMAGE),
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
    plan = make_plan(
        strategy,
        lambda: keras.optimizers.SGD(1.0),
        model=lambda: weighed(layers),
    )
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
    seed_by_step(plan.model, plan.optimizer, seed)
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
    [pytest.param(LAYERS, 2, id="all layers"), pytest.param(FEW, 4, id="more replicas")],
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


def noisy():
    """The changes of weights show the zeros of dropout."""
    image = keras.Input((16, 16, 3))
    x = OwnNoise()(L.RandomFlip()(image))
    return keras.Model(image, L.Dense(3)(L.Dropout(0.5)(L.Flatten()(x))))


@pytest.mark.slow
@pytest.mark.parametrize("replicas", [1, 2])
def test_a_run_with_random_layers_goes_on_as_if_it_had_not_stopped(
    make_plan, on_replicas, replicas
):
    def make():
        plan = make_plan(on_replicas(replicas), model=noisy, steps_per_epoch=3)
        seed_by_step(plan.model, plan.optimizer, 1)
        return plan

    whole, stopped, resumed = make(), make(), make()
    loop.run(whole, Follower(whole, range(2)))
    loop.run(stopped, Follower(stopped, range(1)))
    resumed.model.set_weights(stopped.model.get_weights())
    for mine, theirs in zip(resumed.optimizer.variables, stopped.optimizer.variables, strict=True):
        mine.assign(theirs)
    loop.run(resumed, Follower(resumed, range(1, 2)))

    for mine, theirs in zip(resumed.model.get_weights(), whole.model.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
