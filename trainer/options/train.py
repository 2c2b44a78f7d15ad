"""Options of `train`, each defined once. Imports no TensorFlow."""

import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any

from tfrecord_dataset.options import Group, fields_of
from tfrecord_dataset.shown_text import without_secrets
from trainer.options.shared import DeviceNames, InputConfig, OwnModel, RunOption

OPTIMIZER_NAMES = ("adam", "adamw", "sgd")
CACHES = ("auto", "memory", "none")
USUAL_LEARNING_RATE = 1e-3


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig(InputConfig):
    """The options of `beam-tfrecords-train train`."""

    output: Annotated[
        str,
        RunOption("directory for the run", metavar="RUN", may_change=True),
        Group("data and output"),
    ]
    resume: Annotated[
        bool,
        RunOption(
            "continue the run in RUN, if there is one, with its own options",
            may_change=True,
        ),
    ] = False
    overwrite: Annotated[bool, RunOption("replace the run in RUN", may_change=True)] = False
    validation_split: Annotated[
        str | None,
        RunOption(
            "split to validate on, or none (default: validation, val or valid, else a share of "
            "the train split; never test)",
            metavar="SPLIT",
            may_change=True,
        ),
    ] = None
    model: Annotated[
        str,
        RunOption(
            "small, or for images a model of keras.applications such as MobileNetV2; for boxes "
            "RetinaNet"
        ),
        Group("model"),
    ] = "small"
    model_fn: OwnModel = None
    weights: Annotated[
        str | None,
        RunOption(
            "imagenet, or a file without head (…_notop.h5); of RetinaNet coco, or a folder",
            metavar="FILE",
            names_place=True,
        ),
    ] = None
    head_epochs: Annotated[
        int | None,
        RunOption(
            "epochs with the backbone frozen (default: 2 with --weights)", least=0, is_rare=True
        ),
    ] = None
    class_weights: Annotated[
        str | None,
        RunOption(
            "weight of each class in the training loss: balanced, or CLASS=N,…",
            metavar="WEIGHTS",
            is_rare=True,
        ),
        Group("augmentation and balance"),
    ] = None
    epochs: Annotated[
        int | None,
        RunOption(
            "total, including those before --resume (default: by the data, with --schedule cosine "
            "and --early-stopping)",
            least=1,
            most=1_000_000,
            may_change=True,
            is_completed=True,
        ),
        Group("training"),
    ] = None
    steps_per_epoch: Annotated[
        int | None,
        RunOption(
            "steps per epoch (default: number of records / batch size)", least=1, is_rare=True
        ),
    ] = None
    checkpoint_every_steps: Annotated[
        int | None,
        RunOption(
            "further checkpoints (default: epochs' ends)", least=1, may_change=True, is_rare=True
        ),
    ] = None
    early_stopping: Annotated[
        int | None,
        RunOption(
            "end after N validations without a better one (default: never, if --epochs is given)",
            least=1,
            may_change=True,
            is_completed=True,
        ),
    ] = None
    best_by: Annotated[
        str | None,
        RunOption(
            "metric that selects model.keras and drives --early-stopping (default: the "
            "task's); of your own with :min or :max",
            metavar="METRIC",
            is_completed=True,
            is_rare=True,
        ),
    ] = None
    optimizer: Annotated[
        str,
        RunOption("how weights are updated", choices=OPTIMIZER_NAMES, is_rare=True),
        Group("optimizer"),
    ] = "adam"
    learning_rate: Annotated[
        float | None,
        RunOption(
            "peak learning rate; a tenth of it after --head-epochs (default: 0.001; for boxes "
            "0.002 unless --epochs or --weights is given)",
            above=0,
            may_change=True,
            is_completed=True,
        ),
    ] = None
    schedule: Annotated[
        str | None,
        RunOption(
            "of the learning rate: constant, or half a cosine down to 0 (default: constant, if "
            "--epochs is given)",
            choices=("constant", "cosine"),
            is_completed=True,
            is_rare=True,
        ),
    ] = None
    warmup_steps: Annotated[
        int | None,
        RunOption(
            "steps of a linear rise from 0 (default: none, if --epochs is given)",
            least=0,
            is_completed=True,
            is_rare=True,
        ),
    ] = None
    weight_decay: Annotated[
        float | None,
        RunOption("decoupled weight decay (default: the optimizer's)", least=0, is_rare=True),
    ] = None
    ema: Annotated[
        float | None,
        RunOption(
            "momentum of the averaged weights that are validated and saved (default: none)",
            least=0,
            below=1,
            is_rare=True,
        ),
    ] = None
    clip_norm: Annotated[
        float | None,
        RunOption(
            "largest global norm of the gradients (default: no limit)", above=0, is_rare=True
        ),
    ] = None
    precision: Annotated[
        str,
        RunOption(
            "precision of the computations; weights are float32",
            choices=("float32", "mixed_bfloat16", "mixed_float16"),
            is_rare=True,
        ),
    ] = "float32"
    cache: Annotated[
        str,
        RunOption(
            "keep decoded images in memory, so that only the first epoch decodes them; auto: if "
            "all fit, and none is cropped",
            choices=CACHES,
            may_change=True,
            is_rare=True,
        ),
        Group("machine"),
    ] = "auto"
    seed: Annotated[
        int | None,
        RunOption(
            "random seed of weights and order (default: random, saved in config.json)",
            least=0,
            most=2**32 - 1,
            is_completed=True,
        ),
    ] = None
    deterministic: Annotated[
        bool,
        RunOption(
            "make runs with the same seed equal bit for bit; slower on GPUs",
            may_change=True,
            is_rare=True,
        ),
    ] = False
    devices: DeviceNames = "auto"

    def _conflicts(self) -> Iterator[str]:
        if self.model_fn is not None and (self.model != "small" or self.weights is not None):
            yield "--model-fn cannot be combined with --model or --weights; choose one"
        if self.head_epochs is not None and self.weights is None:
            yield "--head-epochs is for pretrained weights; name them with --weights"
        if self.validation_split is not None and self.validation_share:
            yield "--validation-split and --validation-share both choose the records; give one"
        if self.resume and self.overwrite:
            yield "--resume continues a run, but --overwrite replaces it; choose one"

    def to_json(self) -> dict[str, Any]:
        """Return the options by name for JSON: tuples as lists, URLs without secrets."""
        return {name: _as_json(value) for name, value in dataclasses.asdict(self).items()}


def _as_json(value: Any) -> Any:
    if isinstance(value, str):
        return without_secrets(value)
    return list(value) if isinstance(value, tuple) else value


def option(name: str) -> str:
    """Return the option of a field: `--batch-size` for `batch_size`."""
    return fields_of(TrainConfig)[name].flag


def options_that(quality: str) -> tuple[str, ...]:
    """Return the options with an attribute of RunOption set, such as `may_change`."""
    fields = fields_of(TrainConfig).values()
    return tuple(field.name for field in fields if getattr(field.option, quality))
