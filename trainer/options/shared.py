"""The options that several commands have, and what a run knows of its own options."""

import dataclasses
from typing import Annotated

from tfrecord_dataset.option_values import parse_bytes
from tfrecord_dataset.options import Option
from trainer.options.devices import checked_devices


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOption(Option):
    """An option of a run, which is recorded, and may be continued by others.

    Attributes:
        may_change: A continued run may have another value; other options decide what is trained.
        is_completed: The run chooses a value where none is given.
        names_code: It names a function or a folder that somebody else's run must not choose.
        names_place: It names what may be on a server that somebody else's run must not choose.
    """

    may_change: bool = False
    is_completed: bool = False
    names_code: bool = False
    names_place: bool = False


def own_function(help: str, *, may_change: bool = False) -> RunOption:
    """An option that names a function of the user's own."""
    return RunOption(help, metavar="MODULE:FUNCTION", names_code=True, may_change=may_change)


# The options that several commands have.
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
        may_change=True,  # without it a continued run uses its own features
        names_place=True,
    ),
]
CacheDir = Annotated[
    str | None,
    RunOption(
        "folder for copies of remote shards, and for the images of --cache disk (default: "
        "shards and decoded-images in ~/.cache/beam-tfrecords)",
        metavar="DIR",
        may_change=True,
        names_code=True,
    ),
]
CacheBytes = Annotated[
    int | None,
    RunOption(
        "what either may take, such as 50GB (default: for copies half of the free disk, for "
        "images a quarter of it, or half of the free memory)",
        metavar="SIZE",
        parse=parse_bytes,
        may_change=True,
    ),
]
TrustRun = Annotated[
    bool,
    RunOption(
        "use the functions and the places that RUN names, and that the command does not; only for "
        "runs whose maker you know",
        may_change=True,
    ),
]
Devices = Annotated[
    str,
    RunOption(
        "auto (all GPUs, else the CPU), cpu, cpu:N (N replicas), gpu, or gpu:0,1 (by number)",
        make=checked_devices,
        may_change=True,
    ),
]
Quiet = Annotated[bool, RunOption("print nothing but errors on stderr", may_change=True)]


Compare = Annotated[
    str | None,
    RunOption(
        "another run, beside which report.html shows this one: curves, best values, options",
        metavar="RUN",
        may_change=True,
    ),
]
OwnCallback = Annotated[
    str | None,
    own_function(
        "your own function that returns a Keras callback, or a list of them", may_change=True
    ),
]
OwnModel = Annotated[
    str | None,
    own_function(
        "your own function that takes the task and returns the model; of a trained model, where "
        "it has layers of its own"
    ),
]
OwnLoss = Annotated[
    str | None,
    own_function("your own function that takes (target, outputs) and returns each example's loss"),
]
