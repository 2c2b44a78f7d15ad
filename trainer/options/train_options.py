"""Options of `train`, each defined once, for new and continued runs. Imports no TensorFlow."""

import dataclasses
import re
import secrets
import shlex
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any

from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.options import Group, checked, fields_of
from tfrecord_dataset.shown_text import without_secrets
from tfrecord_dataset.store.urls import is_remote
from trainer.errors import ConfigError, RunExistsError, UntrustedRunError
from trainer.options import DeviceNames, InputConfig, OwnModel, RunOption

OPTIMIZER_NAMES = ("adam", "adamw", "sgd")
CACHES = ("auto", "memory", "none")
USUAL_LEARNING_RATE = 1e-3
_SHA256 = re.compile(r"\b([0-9a-f]{16})[0-9a-f]{48}\b")  # messages show the first digits


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
    folds: Annotated[
        int | None,
        RunOption(
            "train N models, each validated on another N-th of the train split, and a model that "
            "averages them (classes and numbers)",
            least=2,
            most=100,
        ),
    ] = None
    fold: Annotated[
        int | None,
        RunOption("train only this model of --folds, from 1 (default: all)", least=1, is_rare=True),
    ] = None
    model: Annotated[
        str | None,
        RunOption(
            "small, for images a model of keras.applications such as MobileNetV2, for boxes "
            "RetinaNet, or one of another package (default: small)",
            is_completed=True,
        ),
        Group("model"),
    ] = None
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
            "weight of each class in the loss: balanced, none or CLASS=N,…; oversample draws rare "
            "classes more often (default: by shares)",
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
            "end after N epochs without improvement (default: never, if --epochs is given)",
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
    metrics: Annotated[
        tuple[str, ...],
        RunOption("further metrics, of other packages", metavar="METRIC,…", is_rare=True),
    ] = ()
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
        if self.model_fn is not None and (self.model, self.weights) != (None, None):
            yield "--model-fn cannot be combined with --model or --weights; choose one"
        if self.head_epochs is not None and self.weights is None:
            yield "--head-epochs is for pretrained weights; name them with --weights"
        if self.validation_split is not None and self.validation_share:
            yield "--validation-split and --validation-share both choose the records; give one"
        if self.folds and (
            self.validation_split or self.validation_share not in (None, 0, 1 / self.folds)
        ):
            yield "--folds chooses what validates; leave out --validation-split and -share"
        if self.fold is not None and self.fold > (self.folds or 0):
            yield f"--fold {self.fold} is not one of --folds {self.folds or 0}; give a smaller one"
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


_FREE_ON_RESUME = options_that("may_change")
_COMPLETED = options_that("is_completed")
_CODE = options_that("names_code")
_PLACES = options_that("names_place")
# Default values of the options by name, as in JSON.
_FIELDS: Mapping[str, Any] = TrainConfig(data="", output="").to_json()


def new_config(given: Mapping[str, Any]) -> TrainConfig:
    """Return the options of a new run.

    Raises:
        ConfigError: --data is missing, or another option is invalid.
    """
    if "data" not in given:
        raise ConfigError("--data is missing: name a dataset; only a run that goes on needs none")
    config = TrainConfig(**checked(TrainConfig, given))
    if config.seed is not None:
        return config
    return dataclasses.replace(config, seed=secrets.randbits(32))


def as_typed(value: Any) -> str:
    """Return an option's value as it is typed on the command line."""
    match value:
        case Mapping():
            return ",".join(f"{name}={each}" for name, each in value.items())
        case tuple() | list() if not isinstance(value, ImageSize):
            return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def continued_config(given: Mapping[str, Any], previous: TrainConfig) -> TrainConfig:
    """Return the options of a continued run: its own, updated by those given.

    Args:
        given: Options of the command; only the output is required.
        previous: Options in config.json.

    Raises:
        RunExistsError: An option that affects the training differs; or, without `resume`, the
            command is not the one that started the run.
        UntrustedRunError: The run names code or places that the command does not name.
    """
    output = given["output"]
    own = dataclasses.replace(previous, resume=False, overwrite=False)
    typed, before = checked(TrainConfig, given), previous.to_json()
    for name, given_value in typed.items():
        value = _as_json(given_value)
        if name not in _FREE_ON_RESUME and value != before[name]:
            raise RunExistsError(
                f"{option(name)} is {value}, but the run in {output} has {before[name]}; continue "
                "it with --output and --resume only, replace it with --overwrite, or name another "
                "--output"
            )
    config = dataclasses.replace(own, **typed)  # after what differs, which may be in conflict
    if not config.resume:
        for name, value in before.items():
            fixed = name not in (*_FREE_ON_RESUME, *_COMPLETED)
            if fixed and name not in given and value != _FIELDS[name]:
                raise RunExistsError(
                    f"{output} already holds a run, with {option(name)} {value}; continue it with "
                    "--resume, replace it with --overwrite, or name another --output"
                )
    check_named(previous, given, output)
    return config


def check_named(options: TrainConfig, given: Collection[str], run: str) -> None:
    """Raise UntrustedRunError unless the command names all code and places of the run."""
    acting = {
        **{name: getattr(options, name) for name in _CODE},
        **{name: value for name in _PLACES if is_remote(value := getattr(options, name) or "")},
    }
    missing = {name: value for name, value in acting.items() if value and name not in given}
    if missing:
        words = " ".join(f"{option(name)} {shlex.quote(value)}" for name, value in missing.items())
        raise UntrustedRunError(
            f"the run in {run} names functions or places that this command does not: add {words}, "
            "if you trust who made the run"
        )


def check_same(now: Mapping[str, Any], before: Mapping[str, Any], run: str) -> None:
    """Raise RunExistsError if the data or the user's parts differ from the run's."""
    for name in sorted({*now, *before}):
        value, old = now.get(name), before.get(name)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            check_same(value, old, run)
        elif value != old:
            now_is, was = (_SHA256.sub(r"\1", str(each or "")) for each in (value, old))
            raise RunExistsError(
                f"{name} is {now_is or 'not given'}, but the run in {run} has {was or 'none'}; "
                "continue it with the same data and parts (those of Python by trainer.train), or "
                "replace it with --overwrite"
            )
