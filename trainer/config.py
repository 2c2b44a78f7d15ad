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

# What a resumed run may change; all else decides what is trained.
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
        "schema",  # without it a resumed run keeps its features
    }
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The options of `python -m trainer train`.

    Attributes:
        data: What `trainer.open` opens.
        output: RUN, a local directory.
        schema: A file that declares what bare files hold; None infers it.
        task: A task's name, or "auto".
        target: The feature to learn; None where there is one.
        inputs: The features to learn from; None for what the task takes.
        sample_weight: The number that weighs each record's loss in training, or None.
        pad: By input, the length that records are padded to or cut after; others are padded
            to the longest of their batch.
        model: "small", or a name of `keras.applications` for images.
        model_fn: `package.module:function` that makes the model instead, or None.
        weights: A file of weights for the model, or None.
        epochs: In all, those of a resumed run included.
        batch_size: Of the global batch, over all replicas.
        image_size: Of images, (height, width) in pixels; None takes the dataset's, else
            128 x 128.
        devices: As `strategy.parse_devices` reads them.
        loop: One of LOOPS.
        steps_per_call: Steps in one call of the custom loop's `tf.function`.
        steps_per_epoch: None for the records divided by the batch size.
        optimizer: One of OPTIMIZER_NAMES.
        learning_rate: Constant.
        clip_norm: The most that the gradients' global norm may be; None for no limit.
        seed: Of weights and order; None draws one, which config.json then states.
        deterministic: Makes two runs of one seed equal bit for bit, at some cost in time.
        precision: One of PRECISIONS.
        train_split: A split's name; None for "train", or the only one.
        validation_split: A split's name, or "none"; None takes validation, val or valid.
        resume: Go on with the run in `output`; begin one where there is none.
        overwrite: Replace the run in `output`.
        quiet: Say nothing on stderr but errors.
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
                raise ConfigError(f"{option(name)} {value} is not a positive number; give one")
        if self.seed is not None and not 0 <= self.seed < 2**32:
            raise ConfigError(f"--seed {self.seed} is not in 0 … {2**32 - 1}; give such a number")
        choices = (("loop", LOOPS), ("optimizer", OPTIMIZER_NAMES), ("precision", PRECISIONS))
        for name, allowed in choices:
            if getattr(self, name) not in allowed:
                raise UnknownNameError(name, getattr(self, name), allowed)
        for name, length in self.pad.items():
            if length < 1:
                raise ConfigError(f"--pad {name}={length} is less than 1; give a positive length")
        if self.model_fn is not None and (self.model != "small" or self.weights is not None):
            raise ConfigError(
                "--model-fn makes the model, and --model (or --weights) names another; choose one"
            )
        if self.resume and self.overwrite:
            raise ConfigError("--resume keeps a run and --overwrite replaces it; choose one")

    def to_json(self) -> dict[str, Any]:
        """The options by name, as JSON has them: tuples as lists."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
        }

    def with_seed(self) -> "TrainConfig":
        """This, with a seed drawn where there was none."""
        return (
            self if self.seed is not None else dataclasses.replace(self, seed=secrets.randbits(32))
        )


def option(name: str) -> str:
    """`batch_size` as it is typed: `--batch-size`."""
    return "--" + name.replace("_", "-")


def parse_image_size(text: str) -> tuple[int, int]:
    """(height, width) in pixels from `64` or, width first as `build` has it, `640x480`.

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
        raise ConfigError(f"--inputs {text!r} has an empty name; give names with commas: a,b")
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


def resumed(config: TrainConfig, previous: Mapping[str, Any]) -> TrainConfig:
    """`config`, with the seed and the image size of the run that it resumes.

    Args:
        config: The options now.
        previous: config.json's `options`.

    Raises:
        RunExistsError: An option differs that decides what is trained.
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
                f"{option(name)} is {value}, and the run in {config.output} has {before}; "
                "resume with the same, or replace the run by --overwrite"
            )
    return config


def check_same_data(now: Mapping[str, Any], before: Mapping[str, Any], run: str) -> None:
    """Raises RunExistsError when a run was trained on other data than it is resumed on."""
    for name, value in now.items():
        if before.get(name) != value:
            raise RunExistsError(
                f"the {name} of the data is {value}, and that of the run in {run} was "
                f"{before.get(name)}; resume on the same data, or replace the run by --overwrite"
            )
