"""Every option of the commands, checked once. Imports no TensorFlow."""

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any

from tfrecord_dataset.shown_text import without_secrets
from trainer.errors import ConfigError, UnknownNameError

TARGETS_AS = ("class", "number")
LOOPS = ("custom", "fit")
OPTIMIZER_NAMES = ("adam", "adamw", "sgd")
AUGMENTATIONS = ("auto", "none", "flip", "crop", "rand")
PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")
SCHEDULES = ("constant", "cosine")
SAMPLINGS = ("uniform", "balanced")
CACHES = ("auto", "memory", "disk", "none")

_POSITIVE = (
    "epochs",
    "batch_size",
    "steps_per_call",
    "steps_per_epoch",
    "accumulate_steps",
    "checkpoint_every_steps",
    "validate_every_steps",
    "early_stopping",
    "frozen_stages",
)
# Numbers from 0, and what they are below.
_FROM_0: Mapping[str, float] = {
    "weight_decay": math.inf,
    "warmup_steps": math.inf,
    "mixup": math.inf,
    "cutmix": math.inf,
    "head_epochs": math.inf,
    "ema": 1,
    "label_smoothing": 1,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The options of `python -m trainer train`.

    Attributes:
        data: What `trainer.open` opens.
        output: RUN, a local directory.
        schema: A file that declares the features of bare files; None infers them.
        cache_dir: The folder for copies of remote shards and decoded images; None for the user's.
        cache_bytes: What either may take; None for a share of what is free.
        cache: Where decoded images are kept: one of CACHES.
        tuning: A file that `tune` wrote, or None.
        target: The feature to predict; None for the default.
        target_as: One of TARGETS_AS; None goes by the target's kind.
        inputs: The features to learn from; None for the default.
        sample_weight: The number that weights each record's loss in training, or None.
        pad: By input, the length to which records are padded or cut; other inputs are padded
            to the longest record in the batch.
        model: "small", or a name of `keras.applications` for images.
        model_fn: `package.module:function` that makes the model instead, or None.
        loss_fn: `package.module:function` of the loss instead, or None.
        weights: A file of weights for the model, or None.
        head_epochs: Epochs in which only what has no weights from that file learns; None for 2.
        fine_tune_rate: The learning rate afterwards; None for a tenth.
        frozen_stages: Layers of the backbone never learn before the image is more than
            2**frozen_stages times smaller; None lets all learn.
        augment: One of AUGMENTATIONS, for images in training.
        augment_fn: `package.module:function` that changes images in training further, or None.
        mixup: The parameter of mixup's beta distribution; 0 for none.
        cutmix: That of CutMix.
        label_smoothing: The share of the training loss that is given to all classes alike.
        class_weights: "balanced", weights by class (`a=2,b=0.5`), a JSON file of them, or None.
        sampling: One of SAMPLINGS: every record once a pass, or all classes equally often.
        epochs: In total, including those before a resume.
        batch_size: Of the global batch, over all replicas.
        image_size: (height, width) in pixels; None for the dataset's size, else
            128 x 128.
        devices: As `strategy.parse_devices` reads them.
        loop: One of LOOPS.
        steps_per_call: Steps in one call of the custom loop's `tf.function`.
        steps_per_epoch: None for the number of records divided by the batch size.
        accumulate_steps: Parts of each replica's batch that are computed one after the other.
        checkpoint_every_steps: Checkpoints besides those at the ends of epochs, or None.
        validate_every_steps: Validations besides those at the ends of epochs, or None.
        early_stopping: Ends after so many validations without a lower loss, or None.
        callback: `package.module:function` that returns Keras callbacks, or None.
        optimizer: One of OPTIMIZER_NAMES.
        optimizer_fn: `package.module:function` that makes the optimizer instead, or None.
        learning_rate: The largest of the schedule.
        schedule: One of SCHEDULES.
        warmup_steps: Steps in which the learning rate rises from 0.
        weight_decay: Of the optimizer; None for its default.
        ema: The momentum of an average of the weights, which is validated and saved; or None.
        clip_norm: The largest global norm of the gradients; None for no limit.
        jit_compile: Compile forward and backward passes by XLA.
        seed: Of weights and order; None for a random one, saved in config.json.
        deterministic: Makes two runs with the same seed equal bit for bit, at some cost in time.
        precision: One of PRECISIONS.
        train_split: A split's name; None for "train", or the only one.
        validation_split: A split's name, or "none"; None takes validation, val or valid.
        resume: Continue the run in `output`; start one if there is none.
        overwrite: Replace the run in `output`.
        trust_run: Use the code and the places that the run in `output` names.
        quiet: Print nothing but errors on stderr.
    """

    data: str
    output: str
    schema: str | None = None
    cache_dir: str | None = None
    cache_bytes: int | None = None
    cache: str = "auto"
    tuning: str | None = None
    target: str | None = None
    target_as: str | None = None
    inputs: tuple[str, ...] | None = None
    sample_weight: str | None = None
    pad: Mapping[str, int] = dataclasses.field(default_factory=dict)
    model: str = "small"
    model_fn: str | None = None
    loss_fn: str | None = None
    weights: str | None = None
    head_epochs: int | None = None
    fine_tune_rate: float | None = None
    frozen_stages: int | None = None
    augment: str = "auto"
    augment_fn: str | None = None
    mixup: float = 0.0
    cutmix: float = 0.0
    label_smoothing: float = 0.0
    class_weights: str | None = None
    sampling: str = "uniform"
    epochs: int = 10
    batch_size: int = 32
    image_size: tuple[int, int] | None = None
    devices: str = "auto"
    loop: str = "custom"
    steps_per_call: int = 8
    steps_per_epoch: int | None = None
    accumulate_steps: int = 1
    checkpoint_every_steps: int | None = None
    validate_every_steps: int | None = None
    early_stopping: int | None = None
    callback: str | None = None
    optimizer: str = "adam"
    optimizer_fn: str | None = None
    learning_rate: float = 1e-3
    schedule: str = "constant"
    warmup_steps: int = 0
    weight_decay: float | None = None
    ema: float | None = None
    jit_compile: bool = False
    clip_norm: float | None = None
    seed: int | None = None
    deterministic: bool = False
    precision: str = "float32"
    train_split: str | None = None
    validation_split: str | None = None
    resume: bool = False
    overwrite: bool = False
    trust_run: bool = False
    quiet: bool = False

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{option(name)} {value} is less than 1; give a positive number")
        for name in ("learning_rate", "clip_norm", "fine_tune_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise ConfigError(f"{option(name)} {value} is not positive; give a positive number")
        for name, limit in _FROM_0.items():
            value = getattr(self, name)
            if value is not None and not 0 <= value < limit:
                below = "" if limit == math.inf else f", below {limit}"
                raise ConfigError(f"{option(name)} {value}: give a number from 0{below}")
        if self.seed is not None and not 0 <= self.seed < 2**32:
            raise ConfigError(
                f"--seed {self.seed} is not in the range 0 to {2**32 - 1}; give a number in it"
            )
        choices = (
            ("cache", CACHES),
            ("loop", LOOPS),
            ("optimizer", OPTIMIZER_NAMES),
            ("precision", PRECISIONS),
            ("schedule", SCHEDULES),
            ("sampling", SAMPLINGS),
        )
        for name, allowed in choices:
            if getattr(self, name) not in allowed:
                raise UnknownNameError(name, getattr(self, name), allowed)
        for name, length in self.pad.items():
            if length < 1:
                raise ConfigError(f"--pad {name}={length} is less than 1; give a positive length")
        if self.model_fn is not None and (self.model != "small" or self.weights is not None):
            raise ConfigError("--model-fn cannot be combined with --model or --weights; choose one")
        for name in ("head_epochs", "fine_tune_rate", "frozen_stages"):
            if getattr(self, name) is not None and self.weights is None:
                raise ConfigError(
                    f"{option(name)} is for weights learned elsewhere; name them by --weights, or "
                    "leave it out"
                )
        if self.resume and self.overwrite:
            raise ConfigError("--resume continues a run, but --overwrite replaces it; choose one")

    def to_json(self) -> dict[str, Any]:
        """The options by name, as JSON has them: tuples as lists, URLs without their secrets."""
        return {name: _as_json(value) for name, value in dataclasses.asdict(self).items()}


def _as_json(value: Any) -> Any:
    if isinstance(value, str):
        return without_secrets(value)
    return list(value) if isinstance(value, tuple) else value


def option(name: str) -> str:
    """The option of a field: `--batch-size` for `batch_size`."""
    return "--as" if name == "target_as" else "--" + name.replace("_", "-")


def parse_image_size(text: str) -> tuple[int, int]:
    """(height, width) in pixels from `64`, or from `640x480` with the width first.

    Raises:
        ConfigError: It is neither.
    """
    match = re.fullmatch(r"(\d+)(?:x(\d+))?", text.strip().lower())
    size = (int(match[2] or match[1]), int(match[1])) if match else (0, 0)
    if min(size) < 1:
        raise ConfigError(
            f"--image-size {text!r} cannot be read; give a side (64) or WIDTHxHEIGHT (640x480)"
        )
    return size


def parse_bytes(text: str) -> int:
    """Bytes in "50GB" (powers of 1000), "128MiB" or "4096".

    Raises:
        ConfigError: It is no size.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b?)", text.strip().lower())
    if not match:
        raise ConfigError(f"{text!r} is not a size; write it as 50GB or 128MiB")
    power = " kmgt".index(match[2] or " ")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def parse_names(text: str) -> tuple[str, ...]:
    """The names in `a,b`.

    Raises:
        ConfigError: One is empty.
    """
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ConfigError(f"--inputs {text!r} has an empty name; separate names with commas: a,b")
    return names


def parse_lengths(text: str) -> dict[str, int]:
    """The lengths by name in `sequence=128,caption=32`.

    Raises:
        ConfigError: It cannot be read, or names one twice.
    """
    pairs = [re.fullmatch(r"\s*(.+?)\s*=\s*(\d+)\s*", part) for part in text.split(",")]
    lengths = {pair[1]: int(pair[2]) for pair in pairs if pair}
    if len(lengths) < len(pairs):
        raise ConfigError(
            f"--pad {text!r} cannot be read; give each input once: sequence=128,caption=32"
        )
    return lengths
