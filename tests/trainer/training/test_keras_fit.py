"""`fit` refuses, or replaces, what it would get wrong without a word."""

import dataclasses

import keras
import pytest
from following import Follower

from trainer.errors import ConfigError
from trainer.tasks import Task
from trainer.tasks.targets import BoxesTarget
from trainer.training import keras_fit
from trainer.training.optimizers import check_optimizer, create_optimizer

BOXES = Task(name="detection", inputs={}, goal=BoxesTarget(name="boxes"))


def sgd(**settings):
    return lambda: keras.optimizers.SGD(**settings)


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        (sgd(clipnorm=1.0), "--clip-norm"),
        (sgd(global_clipnorm=1.0), "--clip-norm"),
        (sgd(clipvalue=1.0), "--clip-norm"),
        (lambda: keras.optimizers.LossScaleOptimizer(sgd()()), "mixed_bfloat16"),
        (sgd(gradient_accumulation_steps=2), "larger --batch-size"),
        (sgd(use_ema=True, ema_overwrite_frequency=2), "leave it out"),
    ],
)
def test_faulty_optimizers_are_refused(optimizer, message):
    with pytest.raises(ConfigError, match=message):
        check_optimizer(optimizer())


@pytest.mark.parametrize("clip_norm", [None, 1.0])
def test_ours_pass(clip_norm):
    for name in ("adam", "adamw", "sgd"):
        check_optimizer(create_optimizer(name, 0.1, clip_norm))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"accumulate_steps": 2}, "--accumulate-steps fails .*; use --loop custom"),
        ({"jit_compile": True}, "--jit-compile fails"),
        ({"head_steps": 3}, "no --head-epochs .with --weights, give 0"),
        ({"task": BOXES}, "the parts of 'boxes' for several outputs"),
        ({"optimizer": create_optimizer("sgd", 0.1, ema=0.9)}, "from the average of --ema"),
    ],
)
def test_faulty_trainings_are_refused(make_plan, two_replicas, changes, message):
    plan = make_plan(two_replicas)
    keras_fit.check(plan)

    with pytest.raises(ConfigError, match=message):
        keras_fit.check(dataclasses.replace(plan, **changes))


@pytest.mark.slow
def test_fit_takes_as_many_steps_as_asked(make_plan, two_replicas):
    """A finite dataset of unknown size would run too many (17-18 instead of 16)."""
    plan = make_plan(two_replicas, steps_per_epoch=8)

    keras_fit.run(plan, Follower(plan, range(2)))

    assert int(plan.optimizer.iterations.numpy()) == 16
