"""`python -m trainer`: the commands' options. TensorFlow is imported when a command runs."""

import argparse
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
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

# TensorFlow reads these when it is imported; what the user has set stays.
_TENSORFLOW_SETTINGS = {
    # Its C++ side says much at each start, and little of it matters.
    "TF_CPP_MIN_LOG_LEVEL": "2",
    # Keep freed host memory: given back to the system after each step, it comes again page by
    # page, which took 2.1 of 4.9 CPU seconds (now 0.3) of small steps on a CPU.
    "TF_CPU_ALLOCATOR_USE_BFC": "true",
    "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(1 << 20),  # no limit; its own would be 64 GB
}
_UNRECOGNIZED = "unrecognized arguments: "


class _Parser(argparse.ArgumentParser):
    """Suggests the near option where one is mistyped."""

    def error(self, message: str) -> NoReturn:
        if message.startswith(_UNRECOGNIZED):
            name = message.removeprefix(_UNRECOGNIZED).split()[0].split("=")[0]
            message += did_you_mean(name, self._option_string_actions)
        super().error(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code: 0 done, 1 failed, 2 wrong usage, 3 bad data."""
    for name, value in _TENSORFLOW_SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        arguments = vars(_parse(sys.argv[1:] if argv is None else argv))
        command = arguments.pop("command")
        result = _train(arguments) if command == "train" else _evaluate(arguments)
    except TrainerError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except ModuleNotFoundError as error:
        if error.name not in ("keras", "tensorflow"):
            raise
        print(
            f"error: {error.name} is missing; pip install beam-tfrecords[trainer]", file=sys.stderr
        )
        return 1
    except KeyboardInterrupt:
        print("interrupted; the epochs done are kept, --resume goes on", file=sys.stderr)
        return 1
    print(as_json(result))
    return 0


def as_json(metrics: Mapping[str, float]) -> str:
    """One JSON object, in which a metric that is no number (NaN, infinity) is null."""
    return json.dumps(
        {name: value if math.isfinite(value) else None for name, value in metrics.items()}
    )


def _train(arguments: dict[str, Any]) -> dict[str, float]:
    config = TrainConfig(**arguments)

    from trainer import commands

    with commands.readable_errors():
        return commands.train(config)


def _evaluate(arguments: dict[str, Any]) -> dict[str, float]:
    from trainer import commands

    with commands.readable_errors():
        return commands.evaluate(**arguments)


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
        description="Trains a model. stdout's last line is a JSON object of the last epoch's "
        "metrics; RUN holds model.keras, best.keras, history.csv, checkpoints, config.json and "
        "TensorBoard's logs.",
    )
    where = parser.add_argument_group("data and output")
    _add_data(where)
    where.add_argument("--output", required=True, metavar="RUN", help="directory of the run")
    where.add_argument("--resume", action="store_true", help="go on with the run in RUN, if any")
    where.add_argument("--overwrite", action="store_true", help="replace the run in RUN")
    where.add_argument(
        "--train-split", metavar="SPLIT", help="(default: train, or the dataset's only one)"
    )
    where.add_argument(
        "--validation-split",
        metavar="SPLIT",
        help="none for no validation (default: validation, val or valid; never test)",
    )

    what = parser.add_argument_group("what is trained")
    what.add_argument(
        "--task",
        default=TrainConfig.task,
        help=f"auto (by the schema, and says what it took), {', '.join(TASK_NAMES)} "
        "(default: %(default)s)",
    )
    what.add_argument(
        "--target",
        metavar="FEATURE",
        help="what to learn (default: the class label, else what is called label, target or y)",
    )
    what.add_argument(
        "--inputs",
        type=parse_names,
        metavar="FEATURE,…",
        help="what to learn from (default: the image, audio, sequence, text or array with the "
        "vectors of numbers beside it, else all numbers)",
    )
    what.add_argument(
        "--sample-weight",
        metavar="FEATURE",
        help="a number that weighs each record's loss in training",
    )
    what.add_argument(
        "--pad",
        type=parse_lengths,
        default={},
        metavar="INPUT=N,…",
        help="pad an input to N, or cut it: ids of a sequence, words of a text, samples of audio "
        "(default: to the longest of each batch)",
    )
    what.add_argument(
        "--model",
        default=TrainConfig.model,
        help="small, or for images a name of keras.applications such as MobileNetV2 "
        "(default: %(default)s)",
    )
    what.add_argument(
        "--model-fn",
        metavar="MODULE:FUNCTION",
        help="your own function that makes the model, called with the task",
    )
    what.add_argument(
        "--weights", metavar="FILE", help="weights of the model without its head (…_notop.h5)"
    )
    what.add_argument(
        "--image-size",
        type=parse_image_size,
        metavar="SIDE|WxH",
        help="pixels that images are resized to (default: the dataset's, else 128)",
    )

    how = parser.add_argument_group("how")
    _add_number(how, "--epochs", int, TrainConfig.epochs, "in all, resumed ones included")
    _add_number(how, "--batch-size", int, TrainConfig.batch_size, "global, over all replicas")
    _add_number(how, "--steps-per-epoch", int, None, "records divided by the batch size")
    how.add_argument("--loop", choices=LOOPS, default=TrainConfig.loop, help="default: %(default)s")
    _add_number(
        how, "--steps-per-call", int, TrainConfig.steps_per_call, "steps in one tf.function"
    )
    how.add_argument(
        "--optimizer",
        choices=OPTIMIZER_NAMES,
        default=TrainConfig.optimizer,
        help="default: %(default)s",
    )
    _add_number(how, "--learning-rate", float, TrainConfig.learning_rate, "constant")
    _add_number(how, "--clip-norm", float, None, "no limit on the gradients' global norm")
    how.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=TrainConfig.precision,
        help="default: %(default)s",
    )
    _add_number(how, "--seed", int, None, "drawn, and kept in config.json")
    how.add_argument(
        "--deterministic",
        action="store_true",
        help="runs of one seed are equal bit for bit; takes longer on GPUs",
    )
    _add_devices(how)
    return parser


def _add_evaluate(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    parser = commands.add_parser(
        "evaluate",
        allow_abbrev=False,
        help="evaluate a trained model on a split",
        description="Evaluates a trained model; every record counts once. stdout's last line is "
        "a JSON object of the metrics.",
    )
    _add_data(parser)
    parser.add_argument(
        "--run", required=True, dest="run_path", metavar="RUN", help="what train made"
    )
    parser.add_argument("--split", help="(default: test, or the dataset's only one)")
    parser.add_argument(
        "--which",
        choices=("final", "best"),
        default="final",
        help="model.keras, or best.keras of the epoch with the least validation loss "
        "(default: %(default)s)",
    )
    _add_number(parser, "--batch-size", int, None, "the training's")
    _add_devices(parser)
    return parser


def _add_data(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--data",
        required=True,
        metavar="DATASET",
        help="dataset directory, or its parent (newest version), or a glob of TFRecord files",
    )
    parser.add_argument(
        "--schema",
        metavar="FILE",
        help="what bare TFRecord files hold: JSON in the form of metadata.json's features "
        "(default: what the run was trained on, else inferred from the first records)",
    )


def _add_devices(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--devices",
        default=TrainConfig.devices,
        help="auto (all GPUs, else the CPU), cpu, cpu:N (N replicas), gpu, gpu:0,1 (by number)",
    )
    parser.add_argument("--quiet", action="store_true", help="nothing on stderr but errors")


def _add_number(
    parser: argparse._ActionsContainer,
    name: str,
    kind: type[int] | type[float],
    default: float | None,
    meaning: str,
) -> None:
    """Without a default, `meaning` says what happens when the option is left out."""
    text = f"(default: {meaning})" if default is None else f"{meaning} (default: {default})"
    parser.add_argument(name, type=kind, default=default, metavar="N", help=text)


if __name__ == "__main__":
    sys.exit(main())
