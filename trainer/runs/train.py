"""The command `train`."""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.framework.config import is_op_determinism_enabled

from tfrecord_dataset.opening import cache_of
from trainer.dataset import Dataset
from trainer.dataset.opening import open_data
from trainer.errors import ConfigError
from trainer.options.train import TrainConfig
from trainer.progress import Progress
from trainer.runs import choices
from trainer.runs.batches import batch_changes, batches_of_run
from trainer.runs.continuing import check_same_data, continued_config, new_config
from trainer.runs.data import describe_data, order_of
from trainer.runs.directory import Row, RunDirectory
from trainer.runs.input import RunInput, input_of_run
from trainer.runs.own_parts import NOTHING_OWN, OwnParts
from trainer.runs.record import RunConfig
from trainer.runs.recording import Events, Recorder
from trainer.tasks import models
from trainer.tasks.reading import evaluation_batches, with_statistics
from trainer.tasks.record import check_same_records, task_to_json
from trainer.training import fine_tuning, keras_fit, loop
from trainer.training.averaging import averaged
from trainer.training.checkpoint import Checkpoints, check_same_weights, weight_shapes
from trainer.training.evaluation import evaluator
from trainer.training.loop import Plan
from trainer.training.optimizers import create_optimizer
from trainer.training.random_numbers import seed_by_step
from trainer.training.strategy import (
    Workers,
    check_global_batch,
    create_strategy,
    parse_devices,
    read_workers,
)

_LOOPS = {"custom": loop.run, "fit": keras_fit.run}


def train(
    given: Mapping[str, Any], dataset: Dataset | None = None, own: OwnParts = NOTHING_OWN
) -> Row:
    """Trains, or goes on with the run in `output`; returns the last row of the history.

    Args:
        given: Fields of `TrainConfig` by name; of a run that goes on, at least `output`.
        dataset: That of `data`, if it is open already.
        own: What the user brings as objects.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    run, workers = RunDirectory(given["output"]), read_workers()
    with run.held() if workers.is_chief else contextlib.nullcontext():
        return _train(run, workers, given, dataset, own)


def _train(
    run: RunDirectory,
    workers: Workers,
    given: Mapping[str, Any],
    dataset: Dataset | None,
    own: OwnParts,
) -> Row:
    previous = run.read_config() if not given.get("overwrite") and run.holds_run() else None
    config = _config(given, previous, workers)
    progress = Progress(quiet=config.quiet or not workers.is_chief)
    own = own.with_named(config)
    _set_up_tensorflow(config)
    strategy = create_strategy(parse_devices(config.devices), workers)
    check_global_batch(config.batch_size, strategy.num_replicas_in_sync, config.accumulate_steps)

    recorded = run.read_task() if previous else None
    history = run.read_history() if previous else []
    if dataset is None:
        cache = cache_of(config.cache_dir, config.cache_bytes)
        features = recorded.features if recorded else {}
        dataset = open_data(config.data, config.schema, features, cache)
    train_split = choices.train_split(dataset, config.train_split)
    validation_split = choices.validation_split(dataset, config.validation_split, progress)
    steps_per_epoch = choices.steps_per_epoch(config, dataset.num_records(train_split), progress)
    data = describe_data(dataset, train_split)
    order = order_of(dataset, train_split)
    if previous and recorded:
        check_same_data(data, previous.data, config.output)
        order, task = previous.order or order, recorded.task
        check_same_records(task, dataset.features, choices.settings(config))
    else:
        task, config = choices.choose(config, dataset, progress)
        task = with_statistics(task, dataset, train_split, progress.say)
        for each in task.inputs.values():
            for remark in each.remarks(own_model=own.model_fn is not None):
                progress.say(remark)
        if len(task.classes) == 1:
            progress.say(f"{task.target} has only one class: there is nothing to predict")
    task = own.in_task(task)
    source = input_of_run(
        config,
        task,
        dataset,
        (train_split, validation_split),
        order,
        config.epochs * steps_per_epoch,
        progress,
        continues=previous is not None,
    )
    changes = batch_changes(config, task, dataset, train_split, previous, workers.count)

    with strategy.scope():
        if own.model_fn is None:
            model = models.branch_model(task, config.model.lower())
        else:
            model = models.model_from_function(task, own.model_fn)
        backbones = fine_tuning.backbones(model) if config.weights else []
        if config.frozen_stages:
            for backbone in backbones:
                fine_tuning.freeze_stages(backbone, config.frozen_stages)
        optimizer = _optimizer(config, steps_per_epoch, own)
        optimizer.build(model.trainable_variables)
    seed_by_step(model, optimizer, config.seed)
    plan = Plan(
        task=task,
        model=model,
        optimizer=optimizer,
        strategy=strategy,
        batches=batches_of_run(config, task, dataset, train_split, source, changes, own.augment_fn),
        batch_size=config.batch_size,
        steps_per_epoch=steps_per_epoch,
        steps_per_call=config.steps_per_call,
        accumulate_steps=config.accumulate_steps,
        jit_compile=config.jit_compile,
        backbones=backbones,
        head_steps=fine_tuning.head_steps(config, steps_per_epoch),
        times_input=not is_op_determinism_enabled(),  # it holds for the process
    )
    if config.loop == "fit":
        keras_fit.check(plan)
    validate = _validator(dataset, plan, validation_split, source)
    if previous and previous.weights is not None:
        check_same_weights(model, previous.weights, config.output)
    if validate is not None:
        validate(num_batches=1)  # a fault there is found before training
    if workers.is_chief:
        if config.overwrite:
            run.clear()
        run.write_config(
            {
                "options": config.to_json(),
                "data": data,
                "order": dataclasses.asdict(source.order),
                "task": task.name,
                "inputs": [each.name for each in task.inputs.values()],
                "target": task.target,
                "classes": list(task.classes),
                "class_weights": list(changes.class_weights),
                "weights": weight_shapes(model),
                "versions": {"tensorflow": tf.__version__, "keras": keras.__version__},
            },
            task_to_json(task, dataset.features),
        )
    recorder = Recorder(
        run if workers.is_chief else None,
        plan,
        Events(
            epochs=config.epochs,
            steps_per_epoch=steps_per_epoch,
            checkpoint_every=config.checkpoint_every_steps,
            validate_every=config.validate_every_steps,
            patience=config.early_stopping,
        ),
        Checkpoints(
            run.checkpoints,
            model,
            optimizer,
            num_sums=len(loop.metric_names(task)),
            writes=workers.is_chief,
            say=progress.say,
        ),
        validate,
        history,
        progress,
        own.callbacks,
    )
    progress.say(
        f"{model.name}: {model.count_params():,} parameters, {task.num_outputs} output(s), "
        f"{strategy.num_replicas_in_sync} replica(s), batches of {config.batch_size}, "
        f"{plan.steps_per_epoch} steps per epoch, seed {config.seed}"
    )
    if recorder.restore():
        epoch, step = divmod(recorder.step, steps_per_epoch)
        progress.say(f"continuing after epoch {epoch}{f', step {step}' if step else ''}")
        if previous and config.learning_rate != previous.options.learning_rate:
            _set_learning_rate(optimizer, config)
    with recorder.following():
        if recorder.is_done:
            progress.say(f"all {config.epochs} epochs are finished; raise --epochs for more")
        _LOOPS[config.loop](plan, recorder)
    with averaged(optimizer):
        if workers.is_chief:
            run.save_model(model, run.model)
    progress.say(f"model: {run.model}")
    return recorder.history[-1]


def _config(given: Mapping[str, Any], previous: RunConfig | None, workers: Workers) -> TrainConfig:
    if workers.count > 1 and previous is None:
        given = {"seed": 0, **given}  # all workers need the same
    config = continued_config(given, previous.options) if previous else new_config(given)
    if workers.count > 1 and config.loop == "fit":
        raise ConfigError(
            "--loop fit does not work with several workers (TF_CONFIG), whose parts of the data "
            "Keras would choose by itself; leave it out"
        )
    return config


def _set_up_tensorflow(config: TrainConfig) -> None:
    assert config.seed is not None
    keras.utils.set_random_seed(config.seed)
    keras.config.set_dtype_policy(config.precision)
    if config.deterministic:
        tf.config.experimental.enable_op_determinism()


def _optimizer(
    config: TrainConfig, steps_per_epoch: int, own: OwnParts
) -> keras.optimizers.Optimizer:
    learning_rate = own.schedule or fine_tuning.schedule(config, steps_per_epoch)
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


def _set_learning_rate(optimizer: keras.optimizers.Optimizer, config: TrainConfig) -> None:
    """Replaces the constant rate that a checkpoint holds; a schedule is new in each run."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if not isinstance(inner._learning_rate, keras.optimizers.schedules.LearningRateSchedule):
        inner.learning_rate = config.learning_rate


def _validator(
    dataset: Dataset, plan: Plan, split: str | None, source: RunInput
) -> Callable[..., dict[str, float]] | None:
    if split is None:
        return None
    return evaluator(
        plan.task,
        plan.model,
        plan.strategy,
        evaluation_batches(
            plan.task,
            dataset,
            split,
            batch_size=plan.batch_size,
            cache=source.validation_cache,
            tuning=source.tuning,
        ),
        plan.batch_size,
        dataset.num_records(split),
    )
