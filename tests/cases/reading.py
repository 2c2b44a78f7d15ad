"""What reads the input of a case, as the command would."""

import functools
import shlex
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
from eager_runner import yielded

from beam_pipeline.cli.options import command_parser, options_of
from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.records import Array, Record
from beam_pipeline.sources.inputs import complete, find_input, source_of
from beam_pipeline.sources.layout import Claim


@functools.cache
def _parser() -> Any:
    return command_parser()


def config_of(options: str, root: Path | str = "") -> BuildConfig:
    """The configuration of options as on a command line, for the INPUT at `root`."""
    arguments = [each.replace("INPUT", str(root)) for each in shlex.split(options)]
    return options_of("plan", vars(_parser().parse_args(["plan", *arguments])))


def source_at(
    root: Path | str, options: str = "INPUT", scratch: str = ""
) -> tuple[Claim, beam.PTransform]:
    """(what is found, what reads it) of the input at `root`."""
    config = config_of(options, root)
    scratch = scratch or f"{root}.scratch"
    found = find_input(config, scratch)
    return found, source_of(complete(config, found, scratch), found, scratch)


def elements_of(path: Path | str, **options: Any) -> list[Any]:
    """What is read of the input at `path`; options as those of `BuildConfig`."""
    config = BuildConfig(input=str(path), **options)
    return yielded(source_of(config, find_input(config), f"{path}.scratch"))


def records_of(path: Path | str, **options: Any) -> list[Record]:
    """The records among `elements_of`."""
    return [each for each in elements_of(path, **options) if isinstance(each, Record)]


def values_of(array: Array) -> np.ndarray:
    """The values of an array that a record has, or refers to."""
    data = array.data or (storage.read_bytes(array.file) if array.file else b"")
    return np.frombuffer(data, np.dtype(array.dtype).newbyteorder("<")).reshape(array.shape)


def options_of_case(case: Path) -> str:
    """The options of a case, for INPUT."""
    options = case / "options"
    return options.read_text() if options.exists() else "INPUT"
