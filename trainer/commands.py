"""Commands of `python -m trainer`, with options. TensorFlow loads when a command runs."""

import dataclasses
import importlib
import json
import math
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from tfrecord_dataset import foreign_errors, plugins, standard_streams

# Exits on Windows, before imports that fail there.
from tfrecord_dataset import posix_only as posix_only
from tfrecord_dataset.command_line import (
    Command,
    Parser,
    add_options,
    add_program_options,
    program,
)
from tfrecord_dataset.extras import install
from tfrecord_dataset.interrupts import ending_blocked_calls
from tfrecord_dataset.options import Options
from tfrecord_dataset.shown_text import plain_json
from trainer import startup
from trainer.errors import ConfigError, TrainerError, not_a_run
from trainer.options import options_file
from trainer.options.command_options import (
    CONFIG_FILE,
    EvaluateConfig,
    ExportConfig,
    PredictConfig,
    ShowBatchConfig,
    TuneConfig,
)
from trainer.options.train_options import TrainConfig, new_config

# Entry points, whose packages are the user's code.
_GROUPS = ("beam_tfrecords.models", "beam_tfrecords.metrics")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code: 0 done, 1 failed, 2 wrong usage, 3 bad data."""
    argv = sys.argv[1:] if argv is None else argv
    hides_errors = "--deterministic" in argv or argv[:1] == ["export"]
    startup.set_up(debug="--debug" in argv, hides_errors=hides_errors)
    try:
        with ending_blocked_calls():
            parsed = _parse(argv)
            result = _run(parsed)
        if isinstance(result, str):
            print(result, flush=True)
        elif result and (parsed.others.get("json") or not sys.stdout.isatty()):
            print(as_json(result), flush=True)
    except BrokenPipeError:  # as in `predict … | head`
        standard_streams.discard_stdout()
        return 1
    except (Exception, KeyboardInterrupt) as error:
        failure = _failure(error)
        if failure is None:
            raise
        if "--debug" in argv:
            traceback.print_exception(error)
        message, exit_code = failure
        print(message, file=sys.stderr)
        return exit_code
    return 0


def _run(parsed: Command) -> Any:
    """Check the options of a command, then import and run it; return what it prints."""
    command, values = parsed.name, parsed.values
    given: Any = values
    if command != "train":
        given = COMMANDS[command].options(**values)
    else:
        given = values = _of_training(values, parsed.others)
    _check_paths(values)
    with startup.importing():
        from trainer.input_pipeline.tensorflow_errors import readable_errors

        module, _, name = COMMANDS[command].function.partition(":")
        function = getattr(importlib.import_module(module), name)
    with readable_errors():
        return function(**vars(given)) if command == "export" else function(given)


def _of_training(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `train`: those of --config, replaced by those that were typed."""
    path = others.get("config")
    values = {**(options_file.load(path) if path else {}), **values}
    if "output" not in values:
        raise ConfigError("output (--output) is required")
    if "data" in values or values.get("overwrite"):
        new_config(values)  # reports invalid options at once
    if path := others.get("save"):
        options_file.save(path, values)
    return values


def _check_paths(values: Mapping[str, Any]) -> None:
    """Check a command's local paths before TensorFlow's import, which takes seconds."""
    run = values.get("run_path") or values.get("run")
    if run and not os.path.lexists(os.path.join(run, CONFIG_FILE)):
        raise not_a_run(run, CONFIG_FILE)
    for path in [*values.get("inputs", ()), values.get("data")] if run else [values.get("data")]:
        if path:
            from tfrecord_dataset.records.opening import check_exists  # imports NumPy

            check_exists(path)


def _failure(error: BaseException) -> tuple[str, int] | None:
    """Return (message, exit code) for an error that users can fix; None for a bug."""
    match error:
        case TrainerError():
            return f"error: {error}", error.exit_code
        case Exception() if where := foreign_errors.place_of(error, plugins.packages(*_GROUPS)):
            return f"error in your code: {where}; --debug prints the full traceback", 1
        case Exception() if short := foreign_errors.shortage(error):
            return f"error: {short}", 1
        case ModuleNotFoundError(name="keras" | "tensorflow"):
            return f"error: {error.name} is missing; {install('trainer')}", 1
        case OSError(strerror=str(reason), filename=file):
            place = f"{reason}: {file}" if file else reason
            return f"error: {place}; fix that, and start again (a training with --resume)", 1
        case KeyboardInterrupt():
            return "interrupted", 130
    return None


def as_json(result: Mapping[str, Any]) -> str:
    """Format as a JSON object, with null for metrics that are not finite."""
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in result.items()
    }
    return plain_json(json.dumps(finite))


@dataclasses.dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """A command; its function is `package.module:name`, imported when the command runs."""

    function: str
    options: type[Options]
    summary: str
    description: str
    has_json: bool = False


COMMANDS = {
    "train": CommandOptions(
        function="trainer.runs.folds:train",
        options=TrainConfig,
        summary="train a model on a dataset",
        description="Trains a model. RUN holds model.keras (the best), last.keras, report.html, "
        "history.csv, config.json, checkpoints and logs for TensorBoard.",
        has_json=True,
    ),
    "evaluate": CommandOptions(
        function="trainer.runs.trained:evaluate",
        options=EvaluateConfig,
        summary="evaluate a trained model on a split",
        description="Evaluates a trained model; every record counts once.",
        has_json=True,
    ),
    "predict": CommandOptions(
        function="trainer.predicting:predict",
        options=PredictConfig,
        summary="predict for files, folders and datasets",
        description="Predicts for files, folders and datasets.",
        has_json=True,
    ),
    "export": CommandOptions(
        function="trainer.exporting:export",
        options=ExportConfig,
        summary="write a trained model for other programs",
        description="Writes a trained model as a SavedModel that prepares its inputs itself and "
        "names the classes, or as a Keras, TFLite or ONNX model. The last line on stdout is its "
        "path.",
    ),
    "show-batch": CommandOptions(
        function="trainer.runs.run_page:show_batch",
        options=ShowBatchConfig,
        summary="draw the first batch of a training",
        description="Draws the first batch as the model sees it, augmented, with boxes or maps on "
        "the images and labels below them. The last line on stdout is the picture's path.",
    ),
    "tune": CommandOptions(
        function="trainer.tuner:tune",
        options=TuneConfig,
        summary="measure the input of a training on this machine",
        description="Measures reading, parsing, decoding, augmenting and batching, and names the "
        "stage that bounds the input, and what helps.",
        has_json=True,
    ),
}


_OF_OPTIONS_FILE = {
    "--config": "YAML file of options; those that are typed replace its own",
    "--save": "write the options to FILE, for --config",
}


def _parse(argv: Sequence[str]) -> Command:
    parser = Parser(
        prog=program("trainer", "beam-tfrecords-train"),
        description="Trains Keras models from TFRecord datasets.",
    )
    add_program_options(parser)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        own = subparsers.add_parser(name, help=command.summary, description=command.description)
        add_options(own, command.options)
        if command.options is TrainConfig:
            for flag, text in _OF_OPTIONS_FILE.items():
                own.add_argument(flag, metavar="FILE", help=text)
        if command.has_json:
            on_terminal = "print the result as JSON on stdout, even if that is a terminal"
            own.add_argument("--json", action="store_true", help=on_terminal)
        full = "print the full traceback of an error"
        own.add_argument("--debug", action="store_true", help=full)
    owners = {name: command.options for name, command in COMMANDS.items()}
    may_be_missing = ["data", "output"] if argv[:1] == ["train"] else []
    return parser.read_command(argv, owners, may_be_missing=may_be_missing)


def run() -> NoReturn:
    """Run the command of `sys.argv`, and exit."""
    standard_streams.guard()
    sys.exit(main())
