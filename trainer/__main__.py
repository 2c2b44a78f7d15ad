"""`python -m trainer`: the commands and their options. TensorFlow loads when a command runs."""

import argparse
import contextlib
import gc
import json
import math
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from trainer.config import (
    LOOPS,
    OPTIMIZER_NAMES,
    PRECISIONS,
    TASK_NAMES,
    TrainConfig,
    parse_image_size,
    parse_lengths,
    parse_names,
)
from trainer.errors import TrainerError, did_you_mean

# TensorFlow reads these when it is imported; what the user has set takes precedence.
_TENSORFLOW_SETTINGS = {
    # Its C++ side logs a lot at each start, and little of it matters.
    "TF_CPP_MIN_LOG_LEVEL": "2",
    # Keep freed host memory: returning it to the system after each step, and getting it again
    # page by page, took 2.1 of 4.9 CPU seconds (now 0.3) of small steps on a CPU.
    "TF_CPU_ALLOCATOR_USE_BFC": "true",
    "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(1 << 20),  # no limit; the default is 64 GB
}
_UNRECOGNIZED = "unrecognized arguments: "


class _Parser(argparse.ArgumentParser):
    """Suggests the nearest option where one is mistyped."""

    def error(self, message: str) -> NoReturn:
        if message.startswith(_UNRECOGNIZED):
            name = message.removeprefix(_UNRECOGNIZED).split()[0].split("=")[0]
            message += did_you_mean(name, self._option_string_actions)
        super().error(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code: 0 done, 1 failed, 2 wrong usage, 3 bad data."""
    for name, value in _TENSORFLOW_SETTINGS.items():
        os.environ.setdefault(name, value)
    argv = sys.argv[1:] if argv is None else argv
    try:
        result = _run(vars(_parse(argv)))
    except (Exception, KeyboardInterrupt) as error:
        failure = _failure(error)
        if failure is None:
            raise
        if "--debug" in argv:
            traceback.print_exception(error)
        message, exit_code = failure
        print(message, file=sys.stderr)
        return exit_code
    print(as_json(result))
    return 0


def _run(arguments: dict[str, Any]) -> dict[str, float]:
    command = arguments.pop("command")
    del arguments["debug"]  # main reads it
    return _train(arguments) if command == "train" else _evaluate(arguments)


def _failure(error: BaseException) -> tuple[str, int] | None:
    """(message, exit code) of an error that a user can do something about; None for a bug."""
    match error:
        case TrainerError():
            return f"error: {error}", error.exit_code
        case ModuleNotFoundError(name="keras" | "tensorflow"):
            return f"error: {error.name} is missing; pip install beam-tfrecords[trainer]", 1
        case KeyboardInterrupt():
            return "interrupted; finished epochs are saved: --resume continues after them", 1
    return None


def as_json(metrics: Mapping[str, float]) -> str:
    """One JSON object, in which a metric that is not finite is null."""
    return json.dumps(
        {name: value if math.isfinite(value) else None for name, value in metrics.items()}
    )


def _train(arguments: dict[str, Any]) -> dict[str, float]:
    config = TrainConfig(**arguments)
    with _collecting_nothing():
        from trainer import commands

    with commands.readable_errors():
        return commands.train(config)


def _evaluate(arguments: dict[str, Any]) -> dict[str, float]:
    with _collecting_nothing():
        from trainer import commands

    with commands.readable_errors():
        return commands.evaluate(**arguments)


@contextlib.contextmanager
def _collecting_nothing() -> Iterator[None]:
    """For imports: going through TensorFlow's objects, which stay, took a fifth of its own."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="python -m trainer",
        description="Trains Keras models from TFRecord datasets.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    subparsers = {"train": _add_train(commands), "evaluate": _add_evaluate(commands)}
    known, unknown = parser.parse_known_args(argv)
    if unknown:
        subparsers[known.command].error(_UNRECOGNIZED + " ".join(unknown))
    return known


def _add_train(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    parser = commands.add_parser(
        "train",
        allow_abbrev=False,
        help="train a model on a dataset",
        description="Trains a model. The last line on stdout is a JSON object with the metrics of "
        "the last epoch. RUN holds model.keras, best.keras, history.csv, config.json, checkpoints "
        "and logs for TensorBoard.",
    )
    where = parser.add_argument_group("data and output")
    _add_data(where)
    where.add_argument("--output", required=True, metavar="RUN", help="directory for the run")
    where.add_argument(
        "--resume", action="store_true", help="continue the run in RUN, if there is one"
    )
    where.add_argument("--overwrite", action="store_true", help="replace the run in RUN")
    where.add_argument(
        "--train-split",
        metavar="SPLIT",
        help="split to train on (default: train, or the only split)",
    )
    where.add_argument(
        "--validation-split",
        metavar="SPLIT",
        help="split to validate on, or none (default: validation, val or valid; never test)",
    )

    what = parser.add_argument_group("task and model")
    what.add_argument(
        "--task",
        default=TrainConfig.task,
        help=f"auto (chosen by the schema, and printed), {', '.join(TASK_NAMES)} "
        "(default: %(default)s)",
    )
    what.add_argument(
        "--target",
        metavar="FEATURE",
        help="feature to predict (default: the class label, else the one named label, target or y)",
    )
    what.add_argument(
        "--inputs",
        type=parse_names,
        metavar="FEATURE,…",
        help="features to learn from (default: the image, audio, sequence, text or array, and the "
        "numeric vectors in the same record; else all numbers)",
    )
    what.add_argument(
        "--sample-weight",
        metavar="FEATURE",
        help="numeric feature that weights each record's loss in training",
    )
    what.add_argument(
        "--pad",
        type=parse_lengths,
        default={},
        metavar="INPUT=N,…",
        help="pad or cut an input to N: ids of a sequence, words of a text, samples of audio "
        "(default: pad to the longest in each batch)",
    )
    what.add_argument(
        "--model",
        default=TrainConfig.model,
        help="small, or for images a model of keras.applications such as MobileNetV2 "
        "(default: %(default)s)",
    )
    what.add_argument(
        "--model-fn",
        metavar="MODULE:FUNCTION",
        help="your own function that takes the task and returns the model",
    )
    what.add_argument(
        "--weights", metavar="FILE", help="weights for the model without its head (…_notop.h5)"
    )
    what.add_argument(
        "--image-size",
        type=parse_image_size,
        metavar="SIDE|WxH",
        help="resize images to this many pixels (default: the dataset's size, else 128)",
    )

    how = parser.add_argument_group("training")
    _add_number(how, "--epochs", int, TrainConfig.epochs, "total, including those before --resume")
    _add_number(
        how, "--batch-size", int, TrainConfig.batch_size, "records per step, over all replicas"
    )
    _add_number(
        how, "--steps-per-epoch", int, None, "steps per epoch", "number of records / batch size"
    )
    how.add_argument(
        "--loop",
        choices=LOOPS,
        default=TrainConfig.loop,
        help="own training loop, or Keras's fit (default: %(default)s)",
    )
    _add_number(
        how, "--steps-per-call", int, TrainConfig.steps_per_call, "steps per call of a tf.function"
    )
    how.add_argument(
        "--optimizer",
        choices=OPTIMIZER_NAMES,
        default=TrainConfig.optimizer,
        help="default: %(default)s",
    )
    _add_number(how, "--learning-rate", float, TrainConfig.learning_rate, "constant throughout")
    _add_number(how, "--clip-norm", float, None, "largest global norm of the gradients", "no limit")
    how.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=TrainConfig.precision,
        help="default: %(default)s",
    )
    _add_number(
        how, "--seed", int, None, "decides weights and order", "random, saved in config.json"
    )
    how.add_argument(
        "--deterministic",
        action="store_true",
        help="make runs with the same seed equal bit for bit; slower on GPUs",
    )
    _add_runtime(how)
    return parser


def _add_evaluate(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    parser = commands.add_parser(
        "evaluate",
        allow_abbrev=False,
        help="evaluate a trained model on a split",
        description="Evaluates a trained model; every record counts once. The last line on stdout "
        "is a JSON object with the metrics.",
    )
    _add_data(parser)
    parser.add_argument(
        "--run", required=True, dest="run_path", metavar="RUN", help="directory that train wrote"
    )
    parser.add_argument("--split", help="split to evaluate on (default: test, or the only split)")
    parser.add_argument(
        "--which",
        choices=("final", "best"),
        default="final",
        help="model.keras, or best.keras from the epoch with the lowest validation loss "
        "(default: %(default)s)",
    )
    _add_number(parser, "--batch-size", int, None, "records per step", "that of the training")
    _add_runtime(parser)
    return parser


def _add_data(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--data",
        required=True,
        metavar="DATASET",
        help="dataset directory, its parent (newest version), or a glob of TFRecord files",
    )
    parser.add_argument(
        "--schema",
        metavar="FILE",
        help="JSON file that declares the features of bare TFRecord files, like metadata.json "
        "(default: those of the run, else inferred from the first records)",
    )


def _add_runtime(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--devices",
        default=TrainConfig.devices,
        help="auto (all GPUs, else the CPU), cpu, cpu:N (N replicas), gpu, or gpu:0,1 (by number)",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors on stderr")
    parser.add_argument("--debug", action="store_true", help="print the full traceback of an error")


def _add_number(
    parser: argparse._ActionsContainer,
    name: str,
    kind: type[int] | type[float],
    default: float | None,
    meaning: str,
    otherwise: str = "",
) -> None:
    """`otherwise` says what happens where the option has no default and is left out."""
    text = f"{meaning} (default: {otherwise or default})"
    parser.add_argument(name, type=kind, default=default, metavar="N", help=text)


if __name__ == "__main__":
    sys.exit(main())
