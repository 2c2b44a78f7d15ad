"""A training before its first step: the user's parts, data, task, input, model and optimizer."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.framework.config import is_op_determinism_enabled

from trainer import parsing
from trainer.dataset import Dataset
from trainer.errors import ConfigError
from trainer.image_cache import ImageCache, describe
from trainer.options.commands import ShowBatchConfig, TuneConfig
from trainer.options.shared import parse_devices
from trainer.options.train import TrainConfig
from trainer.parsing import Augment
from trainer.progress import Progress
from trainer.records.order import window_size
from trainer.runs import choices
from trainer.runs.continuing import (
    check_same_data,
    check_same_parts,
    continued_config,
    new_config,
)
from trainer.runs.directory import Row, RunConfig, RunDirectory
from trainer.tasks import Task, data_checks, models
from trainer.tasks.class_weights import class_weights
from trainer.tasks.image_models import check_name
from trainer.tasks.inputs.image import check_images
from trainer.tasks.reading import (
    BatchChanges,
    check_memory_of_batch,
    evaluation_batches,
    training_batches,
    with_statistics,
)
from trainer.tasks.task_json import check_same_records
from trainer.training import batch_normalization, fine_tuning
from trainer.training.evaluation import evaluator
from trainer.training.loop import Plan
from trainer.training.optimizers import check_optimizer, create_optimizer
from trainer.training.random_numbers import seed_by_step
from trainer.training.strategy import Workers, check_global_batch, create_strategy

LossFn = Callable[[Any, Any], Any]
OptimizerFn = Callable[[Any], keras.optimizers.Optimizer]

# Options that belong to the optimizer; one of the user's own has them inside.
_OF_OPTIMIZERS = ("weight_decay", "ema", "clip_norm")
# Parts that decide what is trained, and that a run records by name; `model` is an option.
_RECORDED = ("loss", "optimizer", "augment")


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnParts:
    """The user's parts; None, or empty, for the trainer's.

    Attributes:
        model: Takes the task, returns the model.
        loss: Takes (target, outputs), returns the loss of each example, float32 [b].
        metrics: By name, as `loss`: values of each example, whose mean is the metric.
        optimizer: The optimizer, or a function that takes the learning rate (a number, or a
            schedule) and returns it.
        schedule: A learning rate by step.
        augment: Takes an image of the training, uint8 [h, w, c], and a seed, int64 [2]; returns
            such an image.
        callbacks: Of Keras.
    """

    model: models.ModelFn | None = None
    loss: LossFn | None = None
    metrics: Mapping[str, LossFn] = dataclasses.field(default_factory=dict)
    optimizer: keras.optimizers.Optimizer | OptimizerFn | None = None
    schedule: keras.optimizers.schedules.LearningRateSchedule | None = None
    augment: Augment | None = None
    callbacks: Sequence[keras.callbacks.Callback] = ()

    def with_named(self, config: TrainConfig) -> "OwnParts":
        """Add the model's function that the options name, unless there is an object.

        Raises:
            ConfigError: There is no such function.
        """
        if config.model_fn is None or self.model is not None:
            return self
        return dataclasses.replace(self, model=models.find_function(config.model_fn))

    def recorded(self) -> dict[str, str]:
        """The names of the parts that a run records, as `models.path_of` has them."""
        parts = {name: getattr(self, name) for name in _RECORDED}
        return {name: models.path_of(part) for name, part in parts.items() if part is not None}

    def in_task(self, task: Task) -> Task:
        """The task with the loss and the metrics.

        Raises:
            ConfigError: A metric's name is taken.
        """
        taken = sorted({"loss", *task.metrics} & self.metrics.keys())
        if taken:
            raise ConfigError(f"the task has a metric {taken[0]!r} already; choose another name")
        return dataclasses.replace(task, loss_fn=self.loss, more_metrics=self.metrics)

    def make_optimizer(
        self, config: TrainConfig, learning_rate: Any
    ) -> keras.optimizers.Optimizer | None:
        """The user's optimizer, checked, or for an object one like it; None if there is none.

        To be called in the strategy's scope, where an optimizer's variables have to be made.

        Raises:
            ConfigError: It is none, works wrongly on several replicas, or options are given that
                it has inside.
        """
        if self.optimizer is None:
            return None
        given = [name for name in _OF_OPTIMIZERS if getattr(config, name) is not None]
        if given:
            raise ConfigError(
                f"{given[0]} is for the trainer's optimizers; set it in your own, or leave it out"
            )
        optimizer = self.optimizer
        if isinstance(optimizer, keras.optimizers.Optimizer):
            optimizer = type(optimizer).from_config(optimizer.get_config())
        else:
            optimizer = optimizer(learning_rate)
        if not isinstance(optimizer, keras.optimizers.Optimizer):
            raise ConfigError(
                f"optimizer {models.path_of(self.optimizer)} returned "
                f"{type(optimizer).__name__}; return a keras.optimizers.Optimizer"
            )
        check_optimizer(optimizer)
        return optimizer


NOTHING_OWN = OwnParts()


def batch_changes(
    config: TrainConfig, task: Task, dataset: Dataset, split: str, previous: RunConfig | None = None
) -> BatchChanges:
    """The changes of batches by the options; a run that is continued keeps its class weights.

    Raises:
        ConfigError: An option does not suit the task.
    """
    if config.label_smoothing:
        task.goal.check(task.goal.takes_shares, "--label-smoothing needs classes")
    weights: Sequence[float] = () if previous is None else previous.class_weights
    if previous is None and config.class_weights is not None:
        weights = class_weights(config.class_weights, task, dataset, split)
    return BatchChanges(label_smoothing=config.label_smoothing, class_weights=tuple(weights))


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingInput:
    """The source of a training's batches.

    Attributes:
        dataset: The records.
        split: Split to train on.
        task: The task.
        config: The options of the training, completed, with a seed.
        changes: Changes of batches.
        augment: The user's function of an image and a seed; None for none.
    """

    dataset: Dataset
    split: str
    task: Task
    config: TrainConfig
    changes: BatchChanges
    augment: Augment | None = None

    def __post_init__(self) -> None:
        if self.augment is not None:
            check_images(f"augment={models.path_of(self.augment)}", self.task.inputs.values())

    def batches(self, **more: Any) -> tf.data.Dataset:
        """`training_batches` with the options, and more of its arguments."""
        assert self.config.seed is not None
        return training_batches(
            self.task,
            self.dataset,
            self.split,
            batch_size=self.config.global_batch,
            seed=self.config.seed,
            changes=self.changes,
            augment=self.augment,
            **more,
        )


def open_input(config: ShowBatchConfig | TuneConfig, progress: Progress) -> TrainingInput:
    """Open the input of the new training that a command describes.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    dataset = choices.open_given(config)
    split = choices.train_split(dataset, config.train_split)
    dataset, options = choices.hold_out(dataset, config.train_config(), split, progress)
    columns = choices.columns_of(dataset, split)
    task, options = choices.choose(options, dataset, split, columns, progress)
    task = with_statistics(task, dataset, split, progress.say)
    if options.batch_size is None:
        size = choices.batch_size(dataset.num_records(split))
        options = dataclasses.replace(options, batch_size=size)
    changes = batch_changes(options, task, dataset, split)
    return TrainingInput(dataset=dataset, split=split, task=task, config=options, changes=changes)


def window_of(dataset: Dataset, split: str) -> int:
    """The number of records that are shuffled among themselves."""
    index = dataset.index(split)
    return window_size(index.num_records, index.num_bytes)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepared(TrainingInput):
    """A training before its model is made; its task has the user's loss and metrics.

    Attributes:
        previous: config.json of a run that is continued; else None.
        history: Rows of a run that is continued.
        validation_split: Split to validate on, or None.
        data: Identity of the training data.
        cache: Cache of the images of the train split.
        validation_cache: Cache of those of the validation split.
    """

    run: RunDirectory
    previous: RunConfig | None
    history: list[Row]
    own: OwnParts
    workers: Workers
    strategy: tf.distribute.Strategy
    validation_split: str | None
    steps_per_epoch: int
    data: Mapping[str, Any]
    window: int
    cache: ImageCache
    validation_cache: ImageCache
    progress: Progress


def prepare(
    run: RunDirectory,
    workers: Workers,
    given: Mapping[str, Any],
    dataset: Dataset | None,
    own: OwnParts,
) -> Prepared:
    """Begin or resume a run in a locked directory: options, replicas, data, task, input.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    previous = run.read_config() if not given.get("overwrite") and run.holds_run() else None
    config = _config(given, previous, workers)
    progress = Progress(quiet=config.quiet or not workers.is_chief)
    check_name(config.model)
    if previous:
        check_same_parts(own.recorded(), previous.own, config.output)
    own = own.with_named(config)
    _set_up_tensorflow(config)
    strategy = create_strategy(parse_devices(config.devices), workers)
    if config.batch_size is not None:
        check_global_batch(config.batch_size, strategy.num_replicas_in_sync)

    recorded, features = run.read_task() if previous else (None, {})
    if dataset is None:
        dataset = choices.open_given(config, features)
    split = choices.train_split(dataset, config.train_split)
    dataset, config = choices.hold_out(dataset, config, split, progress)
    validation_split = choices.validation_split(dataset, config)
    num_records = dataset.num_records(split)
    data = choices.describe_data(dataset, split)
    if previous and recorded:
        check_same_data(data, previous.data, config.output)
        window, task = previous.window, recorded
        check_same_records(task, dataset.features, config)
    else:
        window = window_of(dataset, split)
        columns, splits = choices.columns_of(dataset, split), (split, validation_split)
        task, config = choices.choose(config, dataset, split, columns, progress)
        task = with_statistics(task, dataset, split, progress.say)
        own_model = own.model is not None
        for warning in data_checks.warnings(task, dataset, splits, columns, own_model=own_model):
            progress.warn(warning)
        config = choices.with_plan(
            config,
            task,
            num_records,
            num_replicas=strategy.num_replicas_in_sync,
            is_validated=validation_split is not None,
        )
    task = own.in_task(task)
    check_memory_of_batch(task, config.global_batch // workers.count)
    steps_per_epoch = choices.steps_per_epoch(config, num_records, progress)
    cache, validation_cache = _caches(
        config, task, dataset, (split, validation_split), steps_per_epoch, progress
    )
    return Prepared(
        run=run,
        config=config,
        previous=previous,
        history=run.read_history() if previous else [],
        own=own,
        workers=workers,
        strategy=strategy,
        dataset=dataset,
        split=split,
        validation_split=validation_split,
        steps_per_epoch=steps_per_epoch,
        data=data,
        task=task,
        window=window,
        cache=cache,
        validation_cache=validation_cache,
        changes=batch_changes(config, task, dataset, split, previous),
        augment=own.augment,
        progress=progress,
    )


def _config(given: Mapping[str, Any], previous: RunConfig | None, workers: Workers) -> TrainConfig:
    if previous is not None:
        return continued_config(given, previous.options)
    return new_config(given if workers.count == 1 else {"seed": 0, **given})  # the same for all


def _set_up_tensorflow(config: TrainConfig) -> None:
    assert config.seed is not None
    keras.utils.set_random_seed(config.seed)
    keras.config.set_dtype_policy(config.precision)
    if config.deterministic:
        tf.config.experimental.enable_op_determinism()


def _caches(
    config: TrainConfig,
    task: Task,
    dataset: Dataset,
    splits: tuple[str, str | None],
    steps_per_epoch: int,
    progress: Progress,
) -> tuple[ImageCache, ImageCache]:
    """The caches of the images to train and to validate on.

    Raises:
        ConfigError: There are no images to keep.
    """
    none, (split, validation_split) = ImageCache(place="none"), splits
    images = parsing.keepable([dataset.features[each.name] for each in task.inputs.values()])
    size, views, num_records = (
        task.decoding.image_size,
        task.augmentation.views,
        dataset.num_records(split),
    )
    if config.cache == "memory":
        check_images("--cache memory", task.inputs.values())
    num_steps = (config.epochs or 0) * steps_per_epoch
    is_seen_again = num_steps * config.global_batch > num_records
    cache = dataset.image_cache(
        split, config.cache, images, views, size, is_seen_again=is_seen_again
    )
    if cache.place == "none" or size is None:
        return cache, none
    progress.say(describe(cache, num_records, images, size))
    if validation_split is None:
        return cache, none
    return cache, dataset.image_cache(validation_split, "auto", images, None, size)


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
            model = models.model_from_function(task, own.model, config.model_fn)
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
            cache=prepared.validation_cache,
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
    return functools.partial(prepared.batches, window=prepared.window, cache=prepared.cache)
