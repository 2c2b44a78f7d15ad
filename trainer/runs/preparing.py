"""Prepares a training: the user's parts, data, task, input, model and optimizer."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.framework.config import is_op_determinism_enabled

from trainer import parsing
from trainer.dataset import Dataset
from trainer.errors import ConfigError
from trainer.image_cache import ImageCache, describe_cache
from trainer.input_pipeline.record_source import shuffle_sizes
from trainer.metrics import Metric, added_metrics
from trainer.options import parse_devices
from trainer.options.train_options import TrainConfig, check_same, continued_config, new_config
from trainer.parsing import Augment
from trainer.progress import Progress
from trainer.runs import choices
from trainer.runs.choices import TrainingInput
from trainer.runs.directory import Row, RunConfig, RunDirectory
from trainer.tasks import Task, data_checks, models
from trainer.tasks.inputs.image import check_images
from trainer.tasks.own_functions import find_function, path_of
from trainer.tasks.reading import check_memory_of_batch, with_statistics
from trainer.tasks.table_columns import SampledColumn
from trainer.tasks.task_json import check_same_records
from trainer.training import layers, optimizers
from trainer.training.loop import TrainingPlan
from trainer.training.strategy import check_global_batch, create_strategy
from trainer.workers import Workers

LossFn = Callable[[Any, Any], Any]
OptimizerFn = Callable[[Any], keras.optimizers.Optimizer]

# Optimizer options, which a user's own optimizer sets itself.
_OF_OPTIMIZERS = ("weight_decay", "ema")
# Parts that affect the training and are recorded by name; `model` is an option.
_RECORDED = ("loss", "optimizer", "augment")


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnParts:
    """The user's parts (see `trainer.train`); None or empty for the defaults."""

    model: models.ModelFn | None = None
    loss: LossFn | None = None
    metrics: Mapping[str, LossFn | Metric] = dataclasses.field(default_factory=dict)
    optimizer: keras.optimizers.Optimizer | OptimizerFn | None = None
    schedule: keras.optimizers.schedules.LearningRateSchedule | None = None
    augment: Augment | None = None
    callbacks: Sequence[keras.callbacks.Callback] = ()

    def by_name(self) -> dict[str, Metric]:
        """Return the metrics; which value of a plain function is better is unknown."""
        return {
            name: part if isinstance(part, Metric) else Metric(name=name, of_examples=part)
            for name, part in self.metrics.items()
        }

    def recorded(self) -> dict[str, str]:
        """Return the paths (`path_of`) of the parts that a run records."""
        parts = {name: getattr(self, name) for name in _RECORDED}
        return {name: path_of(part) for name, part in parts.items() if part is not None}


NOTHING_OWN = OwnParts()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepared(TrainingInput):
    """A training before its model is built; the task has the user's loss and metrics."""

    run: RunDirectory
    previous: RunConfig | None  # of the run to continue
    history: list[Row]  # of the run to continue
    own: OwnParts
    workers: Workers
    strategy: tf.distribute.Strategy
    validation_split: str | None
    steps_per_epoch: int
    data: Mapping[str, Any]  # identity of the training data
    window: int
    group: int
    progress: Progress

    @functools.cached_property
    def caches(self) -> tuple[ImageCache, ImageCache]:
        """Caches of training and validation images."""
        config, task, dataset = self.config, self.task, self.dataset
        images = parsing.keepable([dataset.features[each.name] for each in task.inputs.values()])
        size, views = task.decoding.image_size, task.augmentation.views
        num_records = dataset.num_records(self.split)
        if config.cache == "memory":
            check_images("--cache memory", task.inputs.values())
        num_steps = (config.epochs or 0) * self.steps_per_epoch
        is_seen_again = num_steps * config.global_batch > num_records
        cache = dataset.image_cache(
            self.split, config.cache, images, views, size, is_seen_again=is_seen_again
        )
        if cache.place == "none" or size is None:
            return cache, cache
        self.progress.say(describe_cache(cache, num_records, images, size))
        if self.validation_split is None:
            return cache, cache
        return cache, dataset.image_cache(self.validation_split, "auto", images, None, size)


def prepare(
    run: RunDirectory,
    workers: Workers,
    given: Mapping[str, Any],
    dataset: Dataset | None,
    own: OwnParts,
) -> Prepared:
    """Prepare a new or resumed run in a locked directory."""
    previous = run.read_config() if not given.get("overwrite") and run.holds_run() else None
    if previous:
        config = continued_config(given, previous.options)
        check_same(own.recorded(), previous.own, config.output)
    else:
        config = new_config(given if workers.count == 1 else {"seed": 0, **given})  # equal for all
    progress = Progress(quiet=config.quiet or not workers.is_chief)
    models.check_name(config.model)
    if config.model_fn is not None and own.model is None:
        own = dataclasses.replace(own, model=find_function(config.model_fn))
    strategy = _set_up(config, workers)
    recorded, features = run.read_task() if previous else (None, {})
    if dataset is None:
        dataset = choices.open_given(config, features)
    split = choices.train_split(dataset, config.train_split)
    whole = dataset
    dataset, config = choices.hold_out(dataset, config, split, progress)
    validation_split = choices.validation_split(dataset, config)
    data = choices.describe_data(dataset, split)
    chosen_by = {validation_split: "--validation-split", split: "--target"}
    if previous and recorded:
        check_same(data, previous.data, config.output)
        (window, group), task = (previous.window, previous.group), recorded
        check_same_records(task, dataset.features, config)
        dataset = choices.with_targets(dataset, task, chosen_by, progress)
    else:
        window, group = shuffle_sizes(dataset.index(split))
        whole = whole if config.folds else dataset  # the inputs of all folds' models are equal
        columns, splits = choices.columns_of(whole, split), (split, validation_split)
        task, config = choices.choose(config, whole, split, columns, progress)
        dataset = choices.with_targets(dataset, task, chosen_by, progress)
        known = _of_all_folds(whole, task, split) if config.folds else dataset
        task = with_statistics(task, known, split, progress.say)
        counts = _say_of_data(task, dataset, splits, columns, progress, own_model=bool(own.model))
    is_validated = validation_split is not None
    labels_of = functools.cache(functools.partial(dataset.labels, split, task.target))
    if not recorded:
        config, task = choices.for_uneven(
            config, task, counts, labels_of, is_validated=is_validated
        )
    drawn = choices.oversampled(config, task, dataset, split, labels_of, progress)
    if not recorded:
        config = choices.with_plan(
            config,
            task,
            drawn.num_records(split),
            num_replicas=strategy.num_replicas_in_sync,
            is_validated=is_validated,
        )
    if taken := sorted({"loss", *task.metrics, *config.metrics} & own.metrics.keys()):
        raise ConfigError(f"the task has a metric {taken[0]!r} already; choose another name")
    added = added_metrics(config.metrics, task.goal.learns)
    task = dataclasses.replace(task, loss_fn=own.loss, more_metrics={**added, **own.by_name()})
    if own.augment is not None:
        check_images(f"augment={path_of(own.augment)}", task.inputs.values())
    check_memory_of_batch(task, config.global_batch // workers.count)
    return Prepared(
        run=run,
        config=config,
        previous=previous,
        history=run.read_history() if previous else [],
        own=own,
        workers=workers,
        strategy=strategy,
        dataset=dataset,
        drawn=drawn,
        split=split,
        validation_split=validation_split,
        steps_per_epoch=choices.steps_per_epoch(config, drawn.num_records(split), progress),
        data=data,
        task=task,
        window=window,
        group=group,
        changes=choices.batch_changes(config, task, dataset, split, previous),
        progress=progress,
    )


def _set_up(config: TrainConfig, workers: Workers) -> tf.distribute.Strategy:
    """Set the process's seeds and precision, and return the strategy for the devices."""
    assert config.seed is not None
    keras.utils.set_random_seed(config.seed)
    keras.config.set_dtype_policy(config.precision)
    if config.deterministic:
        tf.config.experimental.enable_op_determinism()
    strategy = create_strategy(parse_devices(config.devices), workers)
    if config.batch_size is not None:
        check_global_batch(config.batch_size, strategy.num_replicas_in_sync)
    return strategy


def _of_all_folds(whole: Dataset, task: Task, split: str) -> Dataset:
    """Return the dataset whose statistics the models of all folds have."""
    task.goal.check(task.goal.is_averaged, "--folds needs classes or numbers")
    return choices.with_targets(whole, task, {split: "--target"}, Progress(quiet=True))


def _say_of_data(
    task: Task,
    dataset: Dataset,
    splits: tuple[str, str | None],
    columns: Callable[[], Mapping[str, SampledColumn]],
    progress: Progress,
    *,
    own_model: bool,
) -> Counter[str]:
    """Say what the classes are and what is wrong with the data; return the records by class."""
    counts_of = functools.cache(functools.partial(data_checks.class_counts, task, dataset))
    counts = counts_of(splits[0]) or Counter()
    if counts:
        progress.say(data_checks.shares_of_classes(task, counts))
    for warning in data_checks.warnings(task, splits, columns, counts_of, own_model=own_model):
        progress.warn(warning)
    return counts


def build_plan(prepared: Prepared) -> TrainingPlan:
    """Build the plan, with model and optimizer in the strategy's scope.

    Raises:
        ConfigError: A part of the user's does not fit the task.
    """
    config, task, own = prepared.config, prepared.task, prepared.own
    with prepared.strategy.scope():
        if own.model is None:
            model = models.build(task, config.model, config.weights)
        else:
            model = models.model_from_function(task, own.model, f"--model-fn {config.model_fn}")
        schedule = own.schedule or optimizers.schedule(config, prepared.steps_per_epoch)
        optimizer = make_optimizer(own, config, schedule)
        if config.precision == "mixed_float16":
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
        optimizer.build(model.trainable_variables)
    num_replicas = prepared.strategy.num_replicas_in_sync
    if num_replicas > 1 and layers.is_apart(model):
        records = config.global_batch // num_replicas
        prepared.progress.say(
            f"batch normalisation runs over the {records} records of each replica; for all "
            "records give a model whose layers have synchronized=True"
        )
    shuffled = {"window": prepared.window, "group": prepared.group}
    own_input = {**shuffled, "augment": own.augment, "cache": prepared.caches[0]}
    return TrainingPlan(
        task=task,
        model=model,
        optimizer=optimizer,
        strategy=prepared.strategy,
        batches=functools.partial(prepared.batches, **own_input),
        batch_size=config.global_batch,
        steps_per_epoch=prepared.steps_per_epoch,
        schedule=None if own.optimizer or isinstance(schedule, float) else schedule,
        backbones=optimizers.backbones(model) if config.weights else [],
        head_steps=optimizers.head_steps(config, prepared.steps_per_epoch),
        clip_norm=config.clip_norm,
        seed_layers=layers.seeding(model, optimizer, config.seed),
        times_input=not is_op_determinism_enabled(),  # set for the whole process
    )


def make_optimizer(
    own: OwnParts, config: TrainConfig, learning_rate: Any
) -> keras.optimizers.Optimizer:
    """Create the optimizer of the options, or the user's; an optimizer object is copied.

    Call it in the strategy's scope, where an optimizer's variables have to be created.

    Raises:
        ConfigError: The user's is not an optimizer, does not support several replicas, or is
            combined with options that it sets itself.
    """
    if own.optimizer is None:
        return optimizers.create_optimizer(
            config.optimizer,
            learning_rate,
            weight_decay=config.weight_decay,
            ema=config.ema,
        )
    if given := [name for name in _OF_OPTIMIZERS if getattr(config, name) is not None]:
        raise ConfigError(
            f"{given[0]} is for the trainer's optimizers; set it in your own, or leave it out"
        )
    if isinstance(own.optimizer, keras.optimizers.Optimizer):
        optimizer = type(own.optimizer).from_config(own.optimizer.get_config())
    else:
        optimizer = own.optimizer(learning_rate)
    if not isinstance(optimizer, keras.optimizers.Optimizer):
        raise ConfigError(
            f"optimizer {path_of(own.optimizer)} returned "
            f"{type(optimizer).__name__}; return a keras.optimizers.Optimizer"
        )
    optimizers.check_optimizer(optimizer)
    return optimizer
