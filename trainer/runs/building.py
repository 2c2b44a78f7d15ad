"""What a prepared run trains with: model, optimizer, batches, validation."""

import functools
from collections.abc import Callable

import keras
import tensorflow as tf
from tensorflow.python.framework.config import is_op_determinism_enabled

from trainer.runs.preparing import Prepared
from trainer.tasks import models
from trainer.tasks.reading import evaluation_batches
from trainer.training import batch_normalization, fine_tuning
from trainer.training.evaluation import evaluator
from trainer.training.loop import Plan
from trainer.training.optimizers import create_optimizer
from trainer.training.random_numbers import seed_by_step


def build(prepared: Prepared) -> Plan:
    """The plan of a training, with its model and optimizer in the scope of the replicas.

    Raises:
        ConfigError: What the user brings does not suit the task.
    """
    config, task, own = prepared.config, prepared.task, prepared.own
    with prepared.strategy.scope():
        if own.model is None:
            model = task.model(config.model.lower())
        else:
            model = models.model_from_function(task, own.model)
        backbones = fine_tuning.backbones(model) if config.weights else []
        optimizer = _optimizer(prepared)
        optimizer.build(model.trainable_variables)
    num_replicas = prepared.strategy.num_replicas_in_sync
    if num_replicas > 1 and batch_normalization.is_apart(model):
        records = config.global_batch // num_replicas
        prepared.progress.say(
            f"batch normalisation runs over the {records} records of each replica; for all "
            "records give a model whose layers have synchronized=True"
        )
    assert config.seed is not None
    seed_by_step(model, optimizer, config.seed)
    return Plan(
        task=task,
        model=model,
        optimizer=optimizer,
        strategy=prepared.strategy,
        batches=_batches(prepared),
        batch_size=config.global_batch,
        steps_per_epoch=prepared.steps_per_epoch,
        backbones=backbones,
        head_steps=fine_tuning.head_steps(config, prepared.steps_per_epoch),
        times_input=not is_op_determinism_enabled(),  # it holds for the process
    )


def validator(prepared: Prepared, plan: Plan) -> Callable[..., dict[str, float]] | None:
    """The function that validates the plan's model, as it is when called; None without a split."""
    split = prepared.validation_split
    if split is None:
        return None
    return evaluator(
        plan.task,
        plan.model,
        plan.strategy,
        functools.partial(
            evaluation_batches,
            plan.task,
            prepared.dataset,
            split,
            batch_size=plan.batch_size,
            cache=prepared.source.validation_cache,
        ),
        plan.batch_size,
        prepared.dataset.num_records(split),
    )


def _optimizer(prepared: Prepared) -> keras.optimizers.Optimizer:
    config, own = prepared.config, prepared.own
    learning_rate = own.schedule or fine_tuning.schedule(config, prepared.steps_per_epoch)
    optimizer = own.make_optimizer(config, learning_rate) or create_optimizer(
        config.optimizer,
        learning_rate,
        config.clip_norm,
        weight_decay=config.weight_decay,
        ema=config.ema,
    )
    if config.precision == "mixed_float16":
        return keras.optimizers.LossScaleOptimizer(optimizer)
    return optimizer


def _batches(prepared: Prepared) -> Callable[..., tf.data.Dataset]:
    """The function that `training.Plan.batches` describes."""
    source = prepared.source
    return functools.partial(prepared.batches, window=source.order.window, cache=source.cache)
