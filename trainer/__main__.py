"""`python -m trainer`: the commands and their options. TensorFlow loads when a command runs."""

import argparse
import functools
import json
import math
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from tfrecord_dataset import streams
from tfrecord_dataset.store import tally
from tfrecord_dataset.store.waiting import ended_by_interrupt
from trainer import startup
from trainer.errors import ConfigError, TrainerError, did_you_mean
from trainer.options.data import add_data, add_debug, add_model_fn, add_trust, add_which
from trainer.options.predict import PredictConfig, add_predict
from trainer.options.train import add_number, add_runtime, add_train
from trainer.options.tune import TuneConfig, add_tune
from trainer.runs.continuing import new_config

_Command = Callable[[], dict[str, float]]


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser whose mistakes are ConfigErrors."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message} (see `{self.prog} --help`)")

    def check_names(self, words: Sequence[str]) -> None:
        """Raises ConfigError for an option that does not exist; suggests the nearest.

        Ahead of the parsing, which would miss the option that was meant, and not name this one.
        """
        options = self._option_string_actions
        for word in words:
            name = word.partition("=")[0]
            if name.startswith("--") and name not in options:
                self.error(f"there is no option {name}{did_you_mean(name, options)}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code: 0 done, 1 failed, 2 wrong usage, 3 bad data."""
    startup.set_up()
    argv = sys.argv[1:] if argv is None else argv
    try:
        with ended_by_interrupt():
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
    if result:
        print(as_json(result))
    return 0


def _run(arguments: dict[str, Any]) -> dict[str, float]:
    command = arguments.pop("command")
    arguments.pop("debug", None)  # main reads it
    is_quiet = arguments.get("quiet", False)
    prepare = {
        "train": _train,
        "evaluate": _evaluate,
        "predict": _predict,
        "export": _export,
        "tune": _tune,
    }[command]
    run = prepare(arguments)
    with startup.importing():
        from trainer.input_pipeline.tensorflow_errors import readable_errors

    with readable_errors():
        result = run()
    line = tally.as_text(tally.TALLY.take())
    if line and not is_quiet:
        print(line, file=sys.stderr)
    return result


def _failure(error: BaseException) -> tuple[str, int] | None:
    """(message, exit code) of an error that a user can do something about; None for a bug."""
    match error:
        case TrainerError():
            return f"error: {error}", error.exit_code
        case ModuleNotFoundError(name="keras" | "tensorflow"):
            return f"error: {error.name} is missing; pip install beam-tfrecords[trainer]", 1
        case OSError(strerror=str(reason), filename=file):
            where = f": {file}" if file else ""
            return f"error: {reason}{where}; fix that, and continue by --resume", 1
        case KeyboardInterrupt():
            return "interrupted; the same command continues a run at its last checkpoint", 1
    return None


def as_json(metrics: Mapping[str, float]) -> str:
    """One JSON object, in which a metric that is not finite is null."""
    return json.dumps(
        {name: value if math.isfinite(value) else None for name, value in metrics.items()}
    )


# Each checks its options, then imports its command.


def _train(arguments: dict[str, Any]) -> _Command:
    if "data" in arguments or arguments.get("overwrite"):
        new_config(arguments)  # wrong options are told at once
    with startup.importing():
        from trainer.runs.train import train

    return functools.partial(train, arguments)


def _evaluate(arguments: dict[str, Any]) -> _Command:
    with startup.importing():
        from trainer.runs.evaluate import evaluate

    return functools.partial(evaluate, **arguments)


def _predict(arguments: dict[str, Any]) -> _Command:
    arguments["inputs"] = tuple(arguments["inputs"])
    config = PredictConfig(**arguments)
    with startup.importing():
        from trainer.predicting import predict

    def run() -> dict[str, float]:
        count = predict(config)
        return {"num_records": count} if config.output is not None else {}

    return run


def _export(arguments: dict[str, Any]) -> _Command:
    with startup.importing():
        from trainer import exporting

    def run() -> dict[str, float]:
        print(exporting.export(**arguments))
        return {}

    return run


def _tune(arguments: dict[str, Any]) -> _Command:
    config = TuneConfig(**arguments)
    with startup.importing():
        from trainer.tuner import tune

    def run() -> dict[str, float]:
        print(json.dumps(tune(config)))
        return {}

    return run


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="python -m trainer",
        description="Trains Keras models from TFRecord datasets.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    subparsers = {
        "train": _add_train(commands),
        "evaluate": _add_evaluate(commands),
        "predict": _add_predict(commands),
        "export": _add_export(commands),
        "tune": _add_tune(commands),
    }
    if argv and argv[0] in subparsers:
        subparsers[argv[0]].check_names(argv[1:])
    return parser.parse_args(argv)


def _add_train(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    parser = commands.add_parser(
        "train",
        allow_abbrev=False,
        help="train a model on a dataset",
        description="Trains a model. The last line on stdout is a JSON object with the metrics of "
        "the last epoch. RUN holds model.keras, best.keras, history.csv, config.json, checkpoints "
        "and logs for TensorBoard.",
    )
    add_train(parser)
    return parser


def _add_evaluate(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    parser = commands.add_parser(
        "evaluate",
        allow_abbrev=False,
        help="evaluate a trained model on a split",
        description="Evaluates a trained model; every record counts once. The last line on stdout "
        "is a JSON object with the metrics.",
    )
    add_data(parser)
    parser.add_argument(
        "--run", required=True, dest="run_path", metavar="RUN", help="directory that train wrote"
    )
    parser.add_argument("--split", help="split to evaluate on (default: test, or the only split)")
    add_which(parser)
    add_model_fn(parser)
    parser.add_argument(
        "--loss-fn", metavar="MODULE:FUNCTION", help="the function of the loss, as in training"
    )
    add_trust(parser)
    add_number(parser, "--batch-size", int, None, "records per step", "that of the training")
    add_runtime(parser)
    return parser


def _add_predict(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    what = "predict for files, folders and datasets"
    parser = commands.add_parser("predict", allow_abbrev=False, help=what, description=what)
    add_predict(parser)
    return parser


def _add_export(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    parser = commands.add_parser(
        "export",
        allow_abbrev=False,
        help="write a trained model for other programs",
        description="Writes a trained model as a SavedModel that prepares its inputs itself and "
        "names the classes, or as a Keras model. The last line on stdout is its path.",
    )
    parser.add_argument("--run", required=True, metavar="RUN", help="directory that train wrote")
    parser.add_argument(
        "--output",
        required=True,
        metavar="PATH",
        help="directory for the SavedModel (for TF Serving a number: served/cells/1), or a file "
        "*.keras for the Keras model alone",
    )
    add_which(parser)
    add_model_fn(parser)
    add_trust(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace what is at PATH")
    add_debug(parser)
    return parser


def _add_tune(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    parser = commands.add_parser(
        "tune",
        allow_abbrev=False,
        help="measure the input of a training on this machine",
        description="Measures reading, parsing, decoding, augmenting and batching, says which of "
        "them bounds the input, and writes what may be tuned. The last line on stdout is a JSON "
        "object with the rates.",
    )
    add_tune(parser)
    return parser


if __name__ == "__main__":
    streams.guard()
    sys.exit(main())
