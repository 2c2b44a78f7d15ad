"""Options of the commands, each defined once: those of the training input, and shared ones.

Imports no TensorFlow.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Annotated

from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.options import Group, Option, Options, parse_bytes
from trainer.task_kinds import TASK_KINDS

MOST_RECORDS_PER_STEP = 1 << 20
# Every replica takes memory and threads before the first step.
_MOST_REPLICAS = 64
_REMEDY = "use auto, cpu, cpu:N (N replicas), gpu (all of them) or gpu:0,1 (by number)"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """The devices that `--devices` selects."""

    kind: str  # "auto", "cpu" or "gpu"
    num_cpus: int = 1  # logical devices, one per replica
    gpus: tuple[int, ...] = ()  # numbers; empty for all


def parse_devices(text: str) -> Devices:
    """Parse auto, cpu, cpu:N, gpu or gpu:0,1.

    Raises:
        ValueError: `text` is invalid; the message continues `--devices 'text' …`.
    """
    match = re.fullmatch(r"auto|(cpu)(?::(\d+))?|(gpu)(?::(\d+(?:,\d+)*))?", text.strip().lower())
    if match is None:
        raise ValueError(f"cannot be read; {_REMEDY}")
    if match[1]:
        count = int(match[2] or 1)
        if count < 1:
            raise ValueError(f"asks for no replica; {_REMEDY}")
        if count > _MOST_REPLICAS:
            raise ValueError(f"asks for {count:,} replicas; {_MOST_REPLICAS} are the most")
        return Devices(kind="cpu", num_cpus=count)
    if match[3]:
        gpus = tuple(int(number) for number in (match[4] or "").split(",") if number)
        if len(set(gpus)) < len(gpus):
            raise ValueError("names a GPU twice; name each once")
        return Devices(kind="gpu", gpus=gpus)
    return Devices(kind="auto")


def checked_devices(text: str) -> str:
    """Return `text` if `parse_devices` accepts it; else raise its ValueError."""
    parse_devices(text)
    return text


AUTO = "auto"
AUGMENTATIONS = (AUTO, "none", "flip", "crop", "jitter", "rand")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOption(Option):
    """An option that a run records.

    Attributes:
        may_change: A continued run may change the value; other options affect the training.
        is_completed: The run chooses a value if none is given.
        names_code: The value is a function or folder that an untrusted run must not choose.
        names_place: The value may name a server, which an untrusted run must not choose.
    """

    may_change: bool = False
    is_completed: bool = False
    names_code: bool = False
    names_place: bool = False


# Options shared by several commands.
Data = Annotated[
    str,
    RunOption(
        "dataset directory, its parent (newest version), or a glob of TFRecord files, local or on "
        "gs://, s3://, az://, https://",
        metavar="DATASET",
        may_change=True,
        names_place=True,
    ),
]
Schema = Annotated[
    str | None,
    RunOption(
        "JSON file that declares the features of bare TFRecord files, like metadata.json "
        "(default: those of the run, else inferred from the first records)",
        metavar="FILE",
        may_change=True,  # else a continued run uses its own features
        names_place=True,
        is_rare=True,
    ),
]
CacheDir = Annotated[
    str | None,
    RunOption(
        "folder for copies of remote shards (default: ~/.cache/beam-tfrecords/shards)",
        metavar="DIR",
        may_change=True,
        names_code=True,
        is_rare=True,
    ),
]
CacheBytes = Annotated[
    int | None,
    RunOption(
        "largest size of these copies, such as 50GB (default: half of the free disk)",
        metavar="SIZE",
        parse=parse_bytes,
        may_change=True,
        is_rare=True,
    ),
]
AllowMissingShards = Annotated[
    bool,
    RunOption(
        "open TFRecord files also if shards of a numbering are missing (00003-of-00010)",
        may_change=True,
        is_rare=True,
    ),
]
DeviceNames = Annotated[
    str,
    RunOption(
        "auto (all GPUs, else the CPU), cpu, cpu:N (N replicas), gpu, or gpu:0,1 (by number)",
        make=checked_devices,
        may_change=True,
    ),
]
Quiet = Annotated[bool, RunOption("print only warnings and errors on stderr", may_change=True)]


OwnModel = Annotated[
    str | None,
    RunOption(
        "your own function that takes the task and returns the model; for a trained model, if "
        "it has layers of its own",
        metavar="MODULE:FUNCTION",
        names_code=True,
        is_rare=True,
    ),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class InputConfig(Options):
    """Options of `train`, `tune` and `show-batch`: the data and its preparation."""

    data: Annotated[Data, Group("data and output")]
    schema: Schema = None
    cache_dir: CacheDir = None
    cache_bytes: CacheBytes = None
    allow_missing_shards: AllowMissingShards = False
    train_split: Annotated[
        str | None,
        RunOption("split to train on (default: train, or the only split)", metavar="SPLIT"),
    ] = None
    validation_share: Annotated[
        float | None,
        RunOption(
            "share of the train split that validates instead (default: 0.1 if no split does)",
            least=0,
            below=1,
            is_completed=True,
        ),
    ] = None
    task: Annotated[
        str | None,
        RunOption(
            f"{', '.join(TASK_KINDS.values())} (default: by the target)",
            choices=tuple(TASK_KINDS),
        ),
        Group("inputs and target"),
    ] = None
    target: Annotated[
        str | None,
        RunOption(
            "feature to predict (default: the class label, else the one named label, target or y, "
            "else the boxes, else the map of classes, else "
            "the only number that a split lacks)",
            metavar="FEATURE",
        ),
    ] = None
    inputs: Annotated[
        tuple[str, ...] | None,
        RunOption(
            "features to learn from; all: also the columns of an image, audio or text "
            "(default: the image, audio, sequence, text or array, else all columns)",
            metavar="FEATURE,…",
        ),
    ] = None
    sample_weight: Annotated[
        str | None,
        RunOption(
            "numeric feature that weights each record's loss in training",
            metavar="FEATURE",
            is_rare=True,
        ),
    ] = None
    pad: Annotated[
        Mapping[str, int],
        RunOption(
            "pad or cut an input to N: ids of a sequence, words of a text, samples of audio "
            "(default: pad to the longest in each batch)",
            metavar="INPUT=N,…",
            least=1,
            is_rare=True,
        ),
    ] = dataclasses.field(default_factory=dict)
    image_size: Annotated[
        ImageSize | None,
        RunOption(
            "resize images to this many pixels (default: the dataset's size, else 128; for boxes "
            "and maps up to 640, else 320)",
            is_completed=True,
        ),
    ] = None
    augment: Annotated[
        str,
        RunOption(
            "flip; crop and flip; jitter: move, recolor and flip; or RandAugment, crop and flip "
            "(default: flip for boxes, maps and colour images, unless classes are signs, left or "
            "right)",
            choices=AUGMENTATIONS,
        ),
        Group("augmentation and balance"),
    ] = AUTO
    label_smoothing: Annotated[
        float,
        RunOption(
            "share of the loss for all classes alike, such as 0.1", least=0, below=1, is_rare=True
        ),
    ] = 0.0
    batch_size: Annotated[
        int | None,
        RunOption(
            "records per step, over all replicas (default: 8 to 256, by their number)",
            least=1,
            most=MOST_RECORDS_PER_STEP,
            is_completed=True,
        ),
        Group("training"),
    ] = None
    quiet: Annotated[Quiet, Group("machine")] = False

    @property
    def global_batch(self) -> int:
        """The global batch size, once chosen."""
        assert self.batch_size is not None
        return self.batch_size
