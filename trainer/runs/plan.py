"""How long a run trains, and how, where its options leave it open: one rule for each choice.

A small dataset gets a number of steps, a large one a number of epochs. Nothing here is chosen by
looking at a result.
"""

import dataclasses
import math

from tfrecord_dataset.shown_text import counted
from trainer.options.train import TrainConfig
from trainer.tasks import Task

# Steps that small datasets get, by what is learned: a step of boxes or maps learns of many places.
_STEPS_OF_PLACES, _STEPS_OF_RECORDS, _STEPS_OF_TABLES = 1_000, 2_000, 4_000
_FEWEST_EPOCHS, _MOST_EPOCHS = 10, 100
# Steps an epoch at least, where batches may be so small.
_LEAST_STEPS = 20
_SMALLEST_BATCH, _USUAL_BATCH, _LARGEST_BATCH = 8, 32, 256
_RECORDS_OF_LARGER_BATCHES = 1_000
# The rate rises in a twentieth of the steps, a few hundred at most.
_WARM_UP_SHARE, _MOST_WARM_UP = 0.05, 500
# Validations without a better one after which a run ends: a quarter of the epochs.
_PATIENCE_SHARE, _LEAST_PATIENCE = 0.25, 5


def batch_size(num_records: int, multiple: int = 1) -> int:
    """Records per step: a power of 2 that leaves some 20 steps an epoch, 8 to 32.

    Of more than 32,000 records a thousandth, up to 256.

    Args:
        num_records: Of the train split.
        multiple: Of which it is one: replicas.
    """
    small = min(num_records / _LEAST_STEPS, _USUAL_BATCH)
    large = min(num_records / _RECORDS_OF_LARGER_BATCHES, _LARGEST_BATCH)
    chosen = 2 ** int(math.log2(max(small, large, _SMALLEST_BATCH)))
    return -(-chosen // multiple) * multiple


def completed(
    config: TrainConfig, task: Task, num_records: int, *, multiple: int, is_validated: bool
) -> TrainConfig:
    """The options of a new run with what they leave open.

    Without `epochs`, the rate is half a cosine after a rise, and the run ends early where it is
    validated; with it, what is not given stays as plain as it can be.

    Args:
        config: The options, as they were given.
        task: What is trained.
        num_records: Of the train split.
        multiple: As for `batch_size`.
        is_validated: Whether there is a validation split.
    """
    size = config.batch_size or batch_size(num_records, multiple)
    steps_per_epoch = config.steps_per_epoch or max(1, num_records // size)
    chosen: dict[str, object] = {"batch_size": size}
    if config.epochs is None:
        wanted = math.ceil(_steps(task) / steps_per_epoch)
        epochs = min(max(wanted, _FEWEST_EPOCHS), _MOST_EPOCHS)
        num_steps = epochs * steps_per_epoch
        patience = max(_LEAST_PATIENCE, round(_PATIENCE_SHARE * epochs))
        chosen |= {
            "epochs": epochs,
            "schedule": config.schedule or "cosine",
            "warmup_steps": min(int(_WARM_UP_SHARE * num_steps), _MOST_WARM_UP)
            if config.warmup_steps is None
            else config.warmup_steps,
            "early_stopping": config.early_stopping or (patience if is_validated else None),
        }
    plain = {
        "schedule": "constant",
        "warmup_steps": 0,
        "best_by": task.goal.best_by if is_validated else "loss",
    }
    found = dataclasses.replace(config, **chosen)
    open_ = {name: value for name, value in plain.items() if getattr(found, name) is None}
    return dataclasses.replace(found, **open_)


def _steps(task: Task) -> int:
    if task.goal.leader is not None:
        return _STEPS_OF_PLACES
    is_table = all(each.group == "numbers" for each in task.inputs.values())
    return _STEPS_OF_TABLES if is_table else _STEPS_OF_RECORDS


def describe(config: TrainConfig, steps_per_epoch: int) -> str:
    """The plan in one line."""
    epochs = config.epochs or 0
    rate = f"{config.schedule} learning rate {config.learning_rate:g}"
    if config.warmup_steps:
        rate = f"{rate} after {counted(config.warmup_steps, 'step')} of warm-up"
    parts = [
        f"plan: {counted(epochs * steps_per_epoch, 'step')} in {counted(epochs, 'epoch')}, "
        f"batches of {config.batch_size}",
        rate,
    ]
    if config.early_stopping:
        parts.append(
            f"ends after {config.early_stopping} validations without a better {config.best_by}"
        )
    return ", ".join(parts)
