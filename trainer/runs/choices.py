"""Defaults that `train` derives from the data: splits, task, sizes, length."""

import dataclasses
import functools
import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.shown_text import counted, listed
from tfrecord_dataset.store.urls import unsigned
from trainer.dataset import FEW_OF_CLASS, Dataset
from trainer.dataset.opening import open_data
from trainer.errors import ConfigError, UnknownNameError
from trainer.options import AUTO, InputConfig
from trainer.options.command_options import EvaluateConfig, ShowBatchConfig, TuneConfig
from trainer.options.train_options import USUAL_LEARNING_RATE, TrainConfig
from trainer.progress import Progress
from trainer.report.history import Best, still_improves
from trainer.runs.directory import Row, RunConfig
from trainer.tasks import Task, choose_task, data_checks, models
from trainer.tasks.choice import choose_target
from trainer.tasks.inputs import is_table
from trainer.tasks.inputs.image import USUAL_SIZE, check_images, declared_size
from trainer.tasks.reading import (
    BALANCED,
    EQUAL,
    OVERSAMPLE,
    BatchChanges,
    class_weights,
    training_batches,
    with_statistics,
)
from trainer.tasks.table_columns import SampledColumn, sample_columns
from trainer.tasks.targets import TARGETS

# Number of records whose targets are sampled to choose the image size.
_SAMPLED = 1_000
_VALIDATION_NAMES = ("validation", "val", "valid")
# Share of the train split to hold out if there is no validation split, and its name.
_VALIDATION_SHARE, _HELD_OUT = 0.1, "validation"
# Below this, a tenth of the records is too few to validate on.
_FEWEST_TO_DIVIDE = 20
_FEW = 200  # of which targets may need a larger share
_OF_UNEVEN = "macro_f1"  # accuracy is high where the rare classes are never found
_OF_FEW = "auc"
_FEWEST_EPOCHS, _MOST_EPOCHS = 10, 100
# Epochs if the fewest end while validation still improves.
_EPOCHS_IF_BETTER = 15
# Minimum number of steps per epoch, if the batch size allows it.
_LEAST_STEPS = 20
_SMALLEST_BATCH, _USUAL_BATCH, _LARGEST_BATCH = 8, 32, 256
# Steps per epoch from which on batches are larger.
_STEPS_OF_LARGER_BATCHES, _STEPS_OF_LARGE_TABLES = 1_000, 40
# Warm-up of the learning rate: share of the steps, and maximum number of steps.
_WARM_UP_SHARE, _MOST_WARM_UP = 0.05, 500
# A record is drawn at most so often in an epoch.
_MOST_REPEATS = 50
# Patience of early stopping: share of the epochs, and minimum.
_PATIENCE_SHARE, _LEAST_PATIENCE = 0.25, 5
Columns = Callable[[], Mapping[str, SampledColumn]]


def open_given(
    config: InputConfig | EvaluateConfig, training_features: Mapping[str, Feature] | None = None
) -> Dataset:
    """Open the dataset of a command's options, with the errors of `open_data`."""
    return open_data(
        config.data,
        config.schema,
        training_features,
        config.cache_dir,
        config.cache_bytes,
        allow_missing_shards=config.allow_missing_shards,
    )


def train_split(dataset: Dataset, name: str | None) -> str:
    """Return the name of the split to train on."""
    return dataset.split(name or _usual_split(dataset, "train", "training")).name


def _usual_split(dataset: Dataset, *names: str) -> str | None:
    """Return the split that has the first of these names, in any case; None if there is none."""
    in_any_case = {split.lower(): split for split in dataset.splits}
    found = (name if name in dataset.splits else in_any_case.get(name) for name in names)
    return next(filter(None, found), None)


def hold_out(
    dataset: Dataset, config: TrainConfig, split: str, progress: Progress
) -> tuple[Dataset, TrainConfig]:
    """Hold out a share of the train split; return the dataset and the options with the share.

    Raises:
        ConfigError: A split of that name exists, or all records are in one group.
    """
    share, usual = config.validation_share, _usual_split(dataset, *_VALIDATION_NAMES)
    if config.folds:
        share = 1 / config.folds
    elif share is None:
        share = 0.0 if config.validation_split or usual else _VALIDATION_SHARE
        if share and (count := dataset.num_records(split)) < _FEWEST_TO_DIVIDE:
            progress.say(f"no validation: {count} records are too few; --validation-share decides")
            share = 0.0
        elif share and count < _FEW:
            share = max(_shares_of_few(dataset))
    config = dataclasses.replace(config, validation_share=share)
    if not share:
        return dataset, config
    if _HELD_OUT in dataset.splits:
        option = "--folds" if config.folds else "--validation-share"
        raise ConfigError(
            f"{option}: {dataset.path} has a split {_HELD_OUT!r}; leave the option out"
        )
    dataset = _with_held_out(dataset, split, config)
    by = f" of {dataset.group_by!r}" if dataset.group_by else ""
    held = dataset.num_records(_HELD_OUT)
    of_all = held / (held + dataset.num_records(split))
    progress.say(
        f"validation: {100 * of_all:.0f} % of {split}, {counted(held, 'record')}, by their "
        f"hashes{by} ({'--folds' if config.folds else '--validation-share'})"
    )
    return dataset, config


def _with_held_out(dataset: Dataset, split: str, config: TrainConfig) -> Dataset:
    """Return the dataset with the share of a split, or the fold, that validates."""
    try:
        target = choose_target(dataset.features, config.target, config.task).name
    except (ConfigError, UnknownNameError):  # which the choice of the task raises
        target = ""
    share, fold = config.validation_share or 0.0, (config.fold or 1) - 1
    return dataset.hold_out(split, share, _HELD_OUT, fold, target)


def _shares_of_few(dataset: Dataset) -> Iterator[float]:
    yield _VALIDATION_SHARE
    for kind in TARGETS.values():
        if any(map(kind.suits, dataset.features.values())):
            yield kind.validation_of_few


def validation_split(dataset: Dataset, config: TrainConfig) -> str | None:
    """Return the name of the split to validate on, or None."""
    name = config.validation_split
    if name == "none":
        return None
    if name is not None:
        return dataset.split(name).name
    if _HELD_OUT in dataset.parts:
        return _HELD_OUT
    return _usual_split(dataset, *_VALIDATION_NAMES)


def of_run(dataset: Dataset, run: RunConfig, name: str | None) -> tuple[Dataset, str]:
    """Return the dataset and the name of its split to evaluate or predict.

    The default is "test", then the share held out if the data is the run's own, then the only
    split. "validation" means that share if no split has the name.

    Raises:
        ConfigError: There are several splits, and none is the default.
        UnknownNameError: The split does not exist.
    """
    share, train = run.options.validation_share, run.data.get("train split", "")
    can_be_drawn = share and train in dataset.splits and _HELD_OUT not in dataset.splits
    if name is None and (test := _usual_split(dataset, "test")):
        name = test
    elif name is None and can_be_drawn and is_data_of(dataset, run):
        name = _HELD_OUT
    if share and can_be_drawn and name == _HELD_OUT:
        dataset = _with_held_out(dataset, train, run.options)
    if name is None and len(dataset.splits) > 1:
        others = [split for split in dataset.splits if split != train] or [train]
        raise ConfigError(
            f"{dataset.path} has the splits {', '.join(dataset.splits)}, and none is called test; "
            f"choose one, such as --split {others[0]}"
        )
    return dataset, dataset.split(name).name


def is_data_of(dataset: Dataset, run: RunConfig) -> bool:
    """Whether a run was trained on the dataset as it is now."""
    train = run.data.get("train split", "")
    return train in dataset.splits and describe_data(dataset, train) == run.data


def training_part(dataset: Dataset, task: Task, run: RunConfig) -> tuple[Dataset, str] | None:
    """Return the dataset and the split of a run's training records; None for other data."""
    if not is_data_of(dataset, run):
        return None
    train, share = run.data["train split"], run.options.validation_share
    if share and _HELD_OUT not in dataset.splits:
        dataset = _with_held_out(dataset, train, run.options)
    if task.goal.missing:
        dataset = dataset.without_missing(train, task.target)
    return dataset, train


def describe_data(dataset: Dataset, split: str) -> dict[str, Any]:
    """Return the identity of a split, for `train_options.check_same`."""
    chosen = dataset.split(split)
    index = dataset.index(split)
    digests = chosen.sha256 or [_digest(index, shard) for shard in range(len(chosen.files))]
    names = (os.path.basename(unsigned(file)) for file in chosen.files)
    return {
        "train split": split,
        "number of records": index.num_records,
        "fingerprint": dataset.fingerprint,
        "shards": dict(zip(names, digests, strict=True)),
    }


def _digest(index: RecordIndex, shard: int) -> str:
    """Hash a bare file's record checksums by SHA-256, without reading the records."""
    if index.shards.files.is_remote:
        return index.shards.files.identity(shard)
    return hashlib.sha256(index.checksums(shard).tobytes()).hexdigest()


def columns_of(dataset: Dataset, split: str) -> Columns:
    """Return a function that samples a split's columns and caches the result."""
    return functools.cache(functools.partial(sample_columns, dataset, split))


def choose(
    config: TrainConfig, dataset: Dataset, split: str, columns: Columns, progress: Progress
) -> tuple[Task, TrainConfig]:
    """Return the task without its statistics, and the options with model and image size."""

    def chosen(size: ImageSize | None) -> tuple[Task, str]:
        sized = dataclasses.replace(config, image_size=size)
        unknown = dataset.numbers_to_predict(dataset.read_statistics())
        return choose_task(dataset.features, sized, columns, unknown)

    def first_values() -> Any:
        batches = dataset.batches(split, batch_size=_SAMPLED, features=[task.target])
        return next(iter(batches))[task.target].numpy()

    size = config.image_size or declared_size(dataset.features.values())
    task, reason = chosen(size)
    shown = None if config.image_size else task.goal.image_size(size, first_values)
    if shown is not None:
        size, (task, reason) = shown, chosen(shown)
        reason += f"; images shown at {size} (--image-size)"
    if config.image_size is not None:
        check_images("--image-size", task.inputs.values())
    if task.images and size is None:
        size = USUAL_SIZE
        reason += f"; images resized to {size} (--image-size)"
    if config.augment == AUTO and task.augment != "none":
        reason += "; half of the images mirrored (--augment)"
    progress.say(f"task {task.name}: {reason}")
    model = None if config.model_fn else models.find(task, config.model, config.weights).name
    return task, dataclasses.replace(config, model=model, image_size=size if task.images else None)


def with_targets(
    dataset: Dataset, task: Task, splits: Mapping[str | None, str], progress: Progress
) -> Dataset:
    """Leave out records whose target is missing, and say how many.

    Args:
        dataset: The dataset.
        task: The task.
        splits: By name of a split, or None, the option that chooses something else.
        progress: Receives a line for each split with such records.

    Raises:
        ConfigError: No record of a split has a target.
    """
    for split, option in splits.items():
        if split is None or not task.goal.missing:
            continue
        count = dataset.num_records(split)
        dataset = dataset.without_missing(split, task.target)
        left = dataset.num_records(split)
        if count and not left:
            raise ConfigError(
                f"target {task.target!r} is missing ({task.goal.missing}) in all "
                f"{counted(count, 'record')} of {split!r}; choose another with {option}"
            )
        if left < count:
            progress.say(
                f"left out {count - left} of {counted(count, 'record')} of {split!r}, whose target "
                f"{task.target!r} is missing ({task.goal.missing})"
            )
    return dataset


def batch_changes(
    config: TrainConfig, task: Task, dataset: Dataset, split: str, previous: RunConfig | None = None
) -> BatchChanges:
    """Return the changes to batches; a continued run keeps its class weights.

    Raises:
        ConfigError: An option does not apply to the task.
    """
    if config.label_smoothing:
        task.goal.check(task.goal.takes_shares, "--label-smoothing needs classes")
    weights = () if previous is None else previous.class_weights
    if previous is None and config.class_weights not in (None, EQUAL, OVERSAMPLE):
        weights = tuple(class_weights(config.class_weights, task, dataset, split))
    if weights and len(weights) != len(task.classes):
        raise ConfigError(
            f"config.json has {counted(len(weights), 'number')} as class_weights, but the task has "
            f"{counted(len(task.classes), 'class')}; correct it, or train again with --overwrite"
        )
    return BatchChanges(label_smoothing=config.label_smoothing, class_weights=weights)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingInput:
    """Source of a training's batches, with complete options and a seed."""

    dataset: Dataset
    drawn: Dataset  # with records in the split as often as each pass draws them
    split: str
    task: Task
    config: TrainConfig
    changes: BatchChanges

    def batches(self, **more: Any) -> tf.data.Dataset:
        """Call `training_batches` with the options and further arguments."""
        assert self.config.seed is not None
        return training_batches(
            self.task,
            self.drawn,
            self.split,
            batch_size=self.config.global_batch,
            seed=self.config.seed,
            changes=self.changes,
            **more,
        )


def open_input(given: ShowBatchConfig | TuneConfig, progress: Progress) -> TrainingInput:
    """Open the input of a new training with the command's options.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    dataset = open_given(given)
    split = train_split(dataset, given.train_split)
    dataset, config = hold_out(dataset, given.train_config(), split, progress)
    task, config = choose(config, dataset, split, columns_of(dataset, split), progress)
    dataset = with_targets(dataset, task, {split: "--target"}, progress)
    task = with_statistics(task, dataset, split, progress.say)
    counts = data_checks.class_counts(task, dataset, split) or Counter()
    labels_of = functools.cache(functools.partial(dataset.labels, split, task.target))
    config, task = for_uneven(config, task, counts, labels_of, is_validated=False)
    drawn = oversampled(config, task, dataset, split, labels_of, progress)
    if config.batch_size is None:
        size = batch_size(drawn.num_records(split), of_table=is_table(task.inputs))
        config = dataclasses.replace(config, batch_size=size)
    return TrainingInput(
        dataset=dataset,
        drawn=drawn,
        split=split,
        task=task,
        config=config,
        changes=batch_changes(config, task, dataset, split),
    )


def steps_per_epoch(config: TrainConfig, num_records: int, progress: Progress) -> int:
    """Return the steps per epoch: the option, or the number of full batches in a pass.

    Raises:
        ConfigError: There are no records.
    """
    if num_records == 0:
        raise ConfigError(
            f"the train split of {config.data} has no records; build the dataset again"
        )
    if num_records < config.global_batch:
        progress.say(
            f"a batch of {config.global_batch} is larger than the {num_records} training records; "
            "some occur twice in a batch"
        )
    return config.steps_per_epoch or max(1, num_records // config.global_batch)


def batch_size(num_records: int, num_replicas: int = 1, *, of_table: bool = False) -> int:
    """Return the records per step: a power of 2, 8 to 32, for about 20 steps per epoch.

    Above 32,000 records, a thousandth of them, up to 256; of tables a fortieth, since a step takes
    little longer with more records.
    """
    small = min(num_records / _LEAST_STEPS, _USUAL_BATCH)
    steps = _STEPS_OF_LARGE_TABLES if of_table else _STEPS_OF_LARGER_BATCHES
    large = min(num_records / steps, _LARGEST_BATCH)
    chosen: int = 2 ** int(math.log2(max(small, large, _SMALLEST_BATCH)))
    return -(-chosen // num_replicas) * num_replicas


def for_uneven(
    config: TrainConfig,
    task: Task,
    counts: Counter[str],
    labels_of: Callable[[], Any],
    *,
    is_validated: bool,
) -> tuple[TrainConfig, Task]:
    """Choose what lets rare classes count where one class has most of the records.

    Class weights are balanced, and the best model is the one with the highest macro F1: otherwise
    the rare classes are never found. If the input is an image and a class has fewer than 100
    records, the records of rare classes are drawn more often instead of weighted, and images are
    moved and recolored, so that the model does not learn the few by heart. The best model then is
    the one with the highest AUC, since a few records in validation change F1 by chance.

    `counts` are the records by class; `labels_of` returns the class of each record, or None if the
    index does not state it, and nothing can be drawn by class.
    """
    if not data_checks.is_uneven(counts):
        return config, task
    is_few = min(filter(None, counts.values())) < FEW_OF_CLASS
    is_one_image = len(task.images) == len(task.inputs) == 1
    weights = config.class_weights or BALANCED
    if config.class_weights is None and is_few and is_one_image and labels_of() is not None:
        weights = OVERSAMPLE
    best_by = _OF_FEW if weights == OVERSAMPLE else _OF_UNEVEN
    config = dataclasses.replace(
        config,
        class_weights=weights,
        best_by=config.best_by or (best_by if is_validated else None),
    )
    if weights == OVERSAMPLE and (config.augment, task.augment) == (AUTO, "flip"):
        task = dataclasses.replace(task, augment="jitter")
    return config, task


def oversampled(
    config: TrainConfig,
    task: Task,
    dataset: Dataset,
    split: str,
    labels_of: Callable[[], Any],
    progress: Progress,
) -> Dataset:
    """Repeat the records of rare classes in the split, if `--class-weights oversample`.

    `labels_of` returns the class of each record, as in `for_uneven`.

    Raises:
        ConfigError: The classes of the records are not known before they are read.
    """
    if config.class_weights != OVERSAMPLE:
        return dataset
    labels = labels_of() if task.goal.has_one_class else None
    if labels is None:
        raise ConfigError(
            f"--class-weights {OVERSAMPLE} needs one class label per record in the dataset's "
            f"index; choose {BALANCED}"
        )
    counts = np.bincount(labels[labels >= 0], minlength=len(task.classes))
    times = np.clip(counts.max() // np.maximum(counts, 1), 1, _MOST_REPEATS)
    shown = [
        f"{name}: {counted(count, 'record')}, {each} times"
        for name, count, each in zip(task.classes, counts.tolist(), times.tolist(), strict=True)
        if count and each > 1
    ]
    if shown:
        changed = ", moved and recolored (--augment)" if task.augment == "jitter" else ""
        progress.say(f"drawn in each epoch: {listed(shown)}{changed}; --class-weights none: once")
    return dataset.repeated(split, np.append(times, 1)[labels])


def with_plan(
    config: TrainConfig,
    task: Task,
    num_records: int,
    *,
    num_replicas: int,
    is_validated: bool,
) -> TrainConfig:
    """Complete the options of a new run.

    Without `epochs`, the learning rate warms up, then decays by half a cosine, and a validated run
    stops early; with it, the rate is constant, and only `early_stopping` stops a run early.
    """
    of_table = is_table(task.inputs)
    size = config.batch_size or batch_size(num_records, num_replicas, of_table=of_table)
    chosen: dict[str, Any] = {
        "batch_size": size,
        "learning_rate": USUAL_LEARNING_RATE,
        "schedule": "constant",
        "warmup_steps": 0,
        "best_by": task.goal.best_by if is_validated else "loss",
    }
    if config.epochs is None:
        per_epoch = config.steps_per_epoch or max(1, num_records // size)
        epochs = min(max(math.ceil(task.goal.num_steps / per_epoch), _FEWEST_EPOCHS), _MOST_EPOCHS)
        patience = max(_LEAST_PATIENCE, round(_PATIENCE_SHARE * epochs))
        chosen |= {
            "epochs": epochs,
            "learning_rate": USUAL_LEARNING_RATE if config.weights else task.goal.learning_rate,
            "schedule": "cosine",
            "warmup_steps": min(int(_WARM_UP_SHARE * epochs * per_epoch), _MOST_WARM_UP),
            "early_stopping": patience if is_validated else None,
        }
    left = {name: value for name, value in chosen.items() if getattr(config, name) is None}
    return dataclasses.replace(config, **left)


def epochs_to_train_on(config: TrainConfig, history: Sequence[Row], best: Best) -> int | None:
    """Return the epochs of a longer training, if a plan of 10 epochs ends while it still improves.

    10 are the fewest of a plan, for many records, and may be too few to learn what these show.
    """
    is_planned = config.schedule == "cosine" and config.early_stopping is not None
    if not is_planned or not len(history) == config.epochs == _FEWEST_EPOCHS:
        return None
    return _EPOCHS_IF_BETTER if still_improves(history, best) else None


def describe_plan(config: TrainConfig, steps_per_epoch: int) -> str:
    """Describe the plan in one line."""
    epochs = config.epochs or 0
    text = (
        f"plan: {counted(epochs * steps_per_epoch, 'step')} in {counted(epochs, 'epoch')}, "
        f"batches of {config.batch_size}, {config.schedule} learning rate {config.learning_rate:g}"
    )
    if config.warmup_steps:
        text += f" after {counted(config.warmup_steps, 'step')} of warm-up"
    if config.early_stopping:
        patience = counted(config.early_stopping, "epoch")
        text += f", ends after {patience} without a better "
        text += config.best_by or "loss"
    return text
