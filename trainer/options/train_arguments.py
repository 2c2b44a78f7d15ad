"""Options that `trainer.train` takes as keywords, for editors and type checkers.

Made of `TrainConfig` by tests/generated_pages.py.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict


class TrainArguments(TypedDict, total=False):
    """The options of `train`."""

    schema: str | None
    cache_dir: str | None
    cache_bytes: int | None
    allow_missing_shards: bool
    train_split: str | None
    validation_share: float | None
    task: str | None
    target: str | None
    inputs: Sequence[str] | None
    sample_weight: str | None
    pad: Mapping[str, int]
    image_size: int | tuple[int, int] | None
    label_smoothing: float
    batch_size: int | None
    quiet: bool
    resume: bool
    overwrite: bool
    validation_split: str | None
    folds: int | None
    fold: int | None
    model_fn: str | None
    weights: str | None
    head_epochs: int | None
    class_weights: str | None
    epochs: int | None
    steps_per_epoch: int | None
    checkpoint_every_steps: int | None
    early_stopping: int | None
    best_by: str | None
    learning_rate: float | None
    warmup_steps: int | None
    weight_decay: float | None
    ema: float | None
    clip_norm: float | None
    precision: str
    cache: str
    seed: int | None
    deterministic: bool
    devices: str
