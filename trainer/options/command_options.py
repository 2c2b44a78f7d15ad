"""Options of the commands other than `train`. Imports no TensorFlow."""

import dataclasses
from typing import Annotated

from tfrecord_dataset.options import Group, Option, Options
from trainer.options import (
    MOST_RECORDS_PER_STEP,
    AllowMissingShards,
    CacheBytes,
    CacheDir,
    DeviceNames,
    InputConfig,
    OwnModel,
    Quiet,
    Schema,
)
from trainer.options.train_options import TrainConfig

# Marks a directory as a run.
CONFIG_FILE = "config.json"
Run = Annotated[str, Option("directory that train wrote", flag="--run", metavar="RUN")]
Which = Annotated[
    str,
    Option(
        "model.keras, the best by validation (train --best-by), or last.keras",
        choices=("best", "last"),
    ),
]


def png_name(name: str) -> str:
    """Check that `name` is the name of a PNG file."""
    if not name.endswith(".png"):
        raise ValueError("does not end in .png; name a PNG file")
    return name


BEST = "best"


def probability(text: str) -> str:
    """Check that `text` is "best" or a number between 0 and 1."""
    try:
        is_between = text == BEST or 0 < float(text) < 1
    except ValueError:
        is_between = False
    if not is_between:
        raise ValueError(f"is {text}; give a number between 0 and 1, or {BEST}")
    return text


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluateConfig(Options):
    """The options of `beam-tfrecords-train evaluate`."""

    run_path: Run
    data: Annotated[
        str, Option("dataset, as for train (default: that of the run)", metavar="DATASET")
    ] = ""
    schema: Schema = None
    cache_dir: CacheDir = None
    cache_bytes: CacheBytes = None
    allow_missing_shards: AllowMissingShards = False
    split: Annotated[
        str | None, Option("split to evaluate on (default: test, or the only split)")
    ] = None
    which: Which = "best"
    model_fn: OwnModel = None
    batch_size: Annotated[
        int | None,
        Option(
            "records per step (default: that of the training)", least=1, most=MOST_RECORDS_PER_STEP
        ),
    ] = None
    report: Annotated[
        str | None,
        Option("HTML page to write: figures of the split, and its worst records", metavar="FILE"),
    ] = None
    devices: DeviceNames = "auto"
    quiet: Quiet = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictConfig(Options):
    """The options of `beam-tfrecords-train predict`."""

    inputs: Annotated[
        tuple[str, ...],
        Option(
            "a dataset directory, or a glob of TFRecord files; or files and folders of images, "
            "audio or texts; or .csv and .jsonl files with a column for each input",
            metavar="INPUT",
            is_positional=True,
        ),
    ]
    run_path: Run
    output: Annotated[str | None, Option("file to write (default: stdout)", metavar="FILE")] = None
    format: Annotated[
        str,
        Option(
            "JSON lines, CSV (one line per box or class), or the results that "
            "COCO's evaluation reads",
            choices=("jsonl", "csv", "coco"),
        ),
    ] = "jsonl"
    columns: Annotated[
        tuple[str, ...] | None,
        Option(
            "columns of CSV, in this order: the target's name for the prediction, source, "
            "probability, any column of the rows or feature of the dataset, and stem, the name of "
            "a file without its suffix; id=stem,breed=label names the columns id and breed",
            metavar="NAME,…",
        ),
    ] = None
    images: Annotated[
        str | None,
        Option("directory for the images with their boxes or maps drawn", metavar="DIR"),
    ] = None
    maps: Annotated[
        str | None,
        Option(
            "directory for maps of classes, PNG of the images' sizes whose pixels are class "
            "numbers",
            metavar="DIR",
        ),
    ] = None
    split: Annotated[
        str | None, Option("split of a dataset (default: test, or the only split)")
    ] = None
    min_score: Annotated[
        float | None,
        Option(
            "leave out boxes below this score (default: that of the best F1 on the validation "
            "split, else 0.3; in the file of coco 0)"
        ),
    ] = None
    threshold: Annotated[
        str | None,
        Option(
            "of two classes, predict the second from this probability, 0 to 1, or best: that of "
            "the best macro F1 on the validation split (default: 0.5)",
            metavar="P",
            make=probability,
        ),
    ] = None
    max_bad_fraction: Annotated[
        float,
        Option(
            "largest accepted fraction of files and rows that cannot be read, 0 to 1 (default: "
            "any but all); each is a line with its error",
            metavar="F",
            least=0,
            most=1,
        ),
    ] = 1.0
    cache_dir: CacheDir = None
    cache_bytes: CacheBytes = None
    allow_missing_shards: AllowMissingShards = False
    which: Which = "best"
    model_fn: OwnModel = None
    batch_size: Annotated[int, Option("records at a time", least=1, most=MOST_RECORDS_PER_STEP)] = (
        32
    )
    quiet: Quiet = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportConfig(Options):
    """The options of `beam-tfrecords-train export`."""

    run: Run
    output: Annotated[
        str,
        Option(
            "directory for the SavedModel (for TF Serving a number: served/cells/1), or a file "
            "*.keras, *.tflite or *.onnx",
            metavar="PATH",
        ),
    ]
    format: Annotated[
        str | None,
        Option(
            "format of the model (default: by PATH's suffix)",
            choices=("saved_model", "keras", "tflite", "onnx"),
        ),
    ] = None
    which: Which = "best"
    model_fn: OwnModel = None
    overwrite: Annotated[bool, Option("replace what is at PATH")] = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class TuneConfig(InputConfig):
    """The options of `beam-tfrecords-train tune`."""

    data: Annotated[
        str,
        Option(
            "dataset directory, or a glob of TFRecord files",
            metavar="DATASET",
            is_positional=True,
        ),
        Group("data and output"),
    ]
    seconds: Annotated[
        float, Option("time for each measurement", above=0), Group("measurements")
    ] = 5.0

    def train_config(self) -> TrainConfig:
        """Return the options of a training with this input."""
        given = dataclasses.asdict(self)
        del given["seconds"]
        return TrainConfig(seed=0, output="", **given)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShowBatchConfig(InputConfig):
    """The options of `beam-tfrecords-train show-batch`."""

    output: Annotated[
        str,
        Option("PNG file to write", metavar="FILE", make=png_name),
        Group("data and output"),
    ] = "batch.png"
    seed: Annotated[
        int, Option("that of the training", least=0, most=2**32 - 1), Group("training")
    ] = 0

    def train_config(self) -> TrainConfig:
        """Return the options of the training whose first batch is shown."""
        return TrainConfig(**dataclasses.asdict(self))
