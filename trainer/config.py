"""Every option of the commands, checked once. Imports no TensorFlow."""

import dataclasses
import re
import secrets
from collections.abc import Mapping
from typing import Any

from trainer.errors import ConfigError, RunExistsError, UnknownNameError

TASK_NAMES = (
    "classification",
    "image_metadata",
    "audio_classification",
    "sequence_classification",
    "text_classification",
    "array_classification",
    "tabular_classification",
    "regression",
)
LOOPS = ("custom", "fit")
OPTIMIZER_NAMES = ("adam", "adamw", "sgd")
PRECISIONS = ("float32", "mixed_bfloat16")

# Options that a resumed run may change; all others decide what is trained.
_FREE_ON_RESUME = frozenset(
    {
        "output",
        "epochs",
        "devices",
        "steps_per_call",
        "validation_split",
        "deterministic",
        "resume",
        "overwrite",
        "quiet",
        "data",
        "schema",  # without it a resumed run uses its own features
    }
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The options of `python -m trainer train`.

    Attributes:
        data: What `trainer.open` opens.
        output: RUN, a local directory.
        schema: A file that declares the features of bare files; None infers them.
        task: A task's name, or "auto".
        target: The feature to predict; None for the default.
        inputs: The features to learn from; None for the default.
        sample_weight: The number that weights each record's loss in training, or None.
        pad: By input, the length to which records are padded or cut; other inputs are padded
            to the longest record in the batch.
        model: "small", or a name of `keras.applications` for images.
        model_fn: `package.module:function` that makes the model instead, or None.
        weights: A file of weights for the model, or None.
        epochs: In total, including those before a resume.
        batch_size: Of the global batch, over all replicas.
        image_size: (height, width) in pixels; None for the dataset's size, else
            128 x 128.
        devices: As `strategy.parse_devices` reads them.
        loop: One of LOOPS.
        steps_per_call: Steps in one call of the custom loop's `tf.function`.
        steps_per_epoch: None for the number of records divided by the batch size.
        optimizer: One of OPTIMIZER_NAMES.
        learning_rate: Constant.
        clip_norm: The largest global norm of the gradients; None for no limit.
        seed: Of weights and order; None for a random one, saved in config.json.
        deterministic: Makes two runs with the same seed equal bit for bit, at some cost in time.
        precision: One of PRECISIONS.
        train_split: A split's name; None for "train", or the only one.
        validation_split: A split's name, or "none"; None takes validation, val or valid.
        resume: Continue the run in `output`; start one if there is none.
        overwrite: Replace the run in `output`.
        quiet: Print nothing but errors on stderr.
    """

    data: str
    output: str
    schema: str | None = None
    task: str = "auto"
    target: str | None = None
    inputs: tuple[str, ...] | None = None
    sample_weight: str | None = None
    pad: Mapping[str, int] = dataclasses.field(default_factory=dict)
    model: str = "small"
    model_fn: str | None = None
    weights: str | None = None
    epochs: int = 10
    batch_size: int = 32
    image_size: tuple[int, int] | None = None
    devices: str = "auto"
    loop: str = "custom"
    steps_per_call: int = 8
    steps_per_epoch: int | None = None
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    clip_norm: float | None = None
    seed: int | None = None
    deterministic: bool = False
    precision: str = "float32"
    train_split: str | None = None
    validation_split: str | None = None
    resume: bool = False
    overwrite: bool = False
    quiet: bool = False

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "steps_per_call", "steps_per_epoch"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{option(name)} {value} is less than 1; give a positive number")
        for name in ("learning_rate", "clip_norm"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise ConfigError(f"{option(name)} {value} is not positive; give a positive number")
        if self.seed is not None and not 0 <= self.seed < 2**32:
            raise ConfigError(
                f"--seed {self.seed} is not in the range 0 to {2**32 - 1}; give a number in it"
            )
        choices = (("loop", LOOPS), ("optimizer", OPTIMIZER_NAMES), ("precision", PRECISIONS))
        for name, allowed in choices:
            if getattr(self, name) not in allowed:
                raise UnknownNameError(name, getattr(self, name), allowed)
        for name, length in self.pad.items():
            if length < 1:
                raise ConfigError(f"--pad {name}={length} is less than 1; give a positive length")
        if self.model_fn is not None and (self.model != "small" or self.weights is not None):
            raise ConfigError("--model-fn cannot be combined with --model or --weights; choose one")
        if self.resume and self.overwrite:
            raise ConfigError("--resume continues a run, but --overwrite replaces it; choose one")

    def to_json(self) -> dict[str, Any]:
        """The options by name, as JSON has them: tuples as lists."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
        }

    def with_seed(self) -> "TrainConfig":
        """The same options, with a random seed if there is none."""
        return (
            self if self.seed is not None else dataclasses.replace(self, seed=secrets.randbits(32))
        )


def option(name: str) -> str:
    """The option of a field: `--batch-size` for `batch_size`."""
    return "--" + name.replace("_", "-")


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


def resume_config(config: TrainConfig, previous: Mapping[str, Any]) -> TrainConfig:
    """`config` with the seed and the image size of the run that it resumes.

    Args:
        config: The options of the command.
        previous: config.json's `options`.

    Raises:
        RunExistsError: An option that decides what is trained differs.
    """
    size = previous["image_size"] and tuple(previous["image_size"])
    config = dataclasses.replace(
        config,
        seed=previous["seed"] if config.seed is None else config.seed,
        image_size=config.image_size or size,
    )
    for name, value in config.to_json().items():
        before = previous.get(name)
        if name not in _FREE_ON_RESUME and value != before:
            raise RunExistsError(
                f"{option(name)} is {value}, but the run in {config.output} has {before}; "
                "resume with the same value, or replace the run with --overwrite"
            )
    return config


def check_same_data(now: Mapping[str, Any], before: Mapping[str, Any], run: str) -> None:
    """Raises RunExistsError if a run is resumed on data other than its training data."""
    for name, value in now.items():
        if before.get(name) != value:
            raise RunExistsError(
                f"the {name} of the data is {value}, but the run in {run} has "
                f"{before.get(name)}; resume on the same data, or replace the run with --overwrite"
            )
