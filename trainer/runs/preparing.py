"""What a run is before anything is built: options, replicas, data, task, input."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from trainer.dataset import Dataset
from trainer.dataset.opening import open_data
from trainer.options.devices import parse_devices
from trainer.options.train import TrainConfig
from trainer.progress import Progress
from trainer.runs import choices, plan
from trainer.runs.batches import TrainingInput, batch_changes
from trainer.runs.continuing import (
    check_same_data,
    check_same_parts,
    continued_config,
    new_config,
)
from trainer.runs.data import describe_data, order_of
from trainer.runs.directory import Row, RunDirectory
from trainer.runs.input import RunInput, input_of_run
from trainer.runs.own_parts import OwnParts
from trainer.runs.record import RunConfig
from trainer.tasks.image_models import check_name
from trainer.tasks.reading import with_statistics
from trainer.tasks.record import check_same_records
from trainer.training.strategy import Workers, check_global_batch, create_strategy


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepared(TrainingInput):
    """All that a training is made of; its task has the user's loss and metrics.

    Attributes:
        run: The directory.
        previous: config.json of a run that goes on; else None.
        history: The rows of a run that goes on.
        own: What the user brings.
        workers: That train together.
        strategy: The replicas.
        validation_split: To validate on, or None.
        steps_per_epoch: Steps.
        data: The identity of the training data.
        source: The order of the records, kept images, parallelism.
        progress: For messages.
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
    source: RunInput
    progress: Progress


def prepare(
    run: RunDirectory,
    workers: Workers,
    given: Mapping[str, Any],
    dataset: Dataset | None,
    own: OwnParts,
) -> Prepared:
    """Checks the options, opens the data, and chooses what they leave open.

    Args:
        run: The directory, held.
        workers: That train together.
        given: Fields of `TrainConfig` by name.
        dataset: That of `data`, if it is open already.
        own: What the user brings as objects.

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
    num_replicas = strategy.num_replicas_in_sync
    if config.batch_size is not None:
        check_global_batch(config.batch_size, num_replicas)

    recorded, features = run.read_task() if previous else (None, {})
    history = run.read_history() if previous else []
    if dataset is None:
        dataset = open_data(
            config.data,
            config.schema,
            features,
            config.cache_dir,
            config.cache_bytes,
            allow_missing_shards=config.allow_missing_shards,
        )
    train_split = choices.train_split(dataset, config.train_split)
    validation_split = choices.validation_split(dataset, config.validation_split, progress)
    num_records = choices.num_records(config, dataset, train_split)
    data = describe_data(dataset, train_split)
    if previous and recorded:
        check_same_data(data, previous.data, config.output)
        order, task = previous.order, recorded
        check_same_records(task, dataset.features, config)
    else:
        order = order_of(dataset, train_split)
        task, config = choices.choose(config, dataset, progress)
        task = with_statistics(task, dataset, train_split, progress.say)
        for remark in choices.remarks(task, own_model=own.model is not None):
            progress.say(remark)
        config = plan.completed(
            config,
            task,
            num_records,
            multiple=num_replicas,
            is_validated=validation_split is not None,
        )
    steps_per_epoch = choices.steps_per_epoch(config, num_records, progress)
    task = own.in_task(task)
    source = input_of_run(
        config,
        task,
        dataset,
        (train_split, validation_split),
        order,
        (config.epochs or 0) * steps_per_epoch,
        progress,
        continues=previous is not None,
    )
    return Prepared(
        run=run,
        config=config,
        previous=previous,
        history=history,
        own=own,
        workers=workers,
        strategy=strategy,
        dataset=dataset,
        split=train_split,
        validation_split=validation_split,
        steps_per_epoch=steps_per_epoch,
        data=data,
        task=task,
        source=source,
        changes=batch_changes(config, task, dataset, train_split, previous, workers.count),
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
