"""Read the input of a case as the command would."""

import shlex
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
from eager_runner import yielded

from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.records import Array, Consumed, Record
from beam_pipeline.sources.inputs import complete, find_input, source_of
from beam_pipeline.sources.layout import Claim
from tfrecord_dataset.options import all_options, arguments_of

_OPTIONS = {
    flag: (name, field)
    for name, field in all_options(BuildConfig).items()
    for flag in (field.flag, field.option.other_flag)
}


def config_of(options: str, root: Path | str = "") -> BuildConfig:
    """Parse options as on a command line, for the INPUT at `root`.

    Recipe-only options have the same syntax.
    """
    values: dict[str, Any] = {}
    words = iter([each.replace("INPUT", str(root)) for each in shlex.split(options)])
    for word in words:
        name, field = _OPTIONS[word if word.startswith("--") else "--input"]
        if field.option.is_positional:
            values[name] = field.parse(word)
        elif field.option.may_repeat:
            values[name] = (*values.get(name, ()), *field.parse(next(words)))
        else:
            values[name] = True if field.kind is bool else field.parse(next(words))
    return BuildConfig(**arguments_of(BuildConfig, values))


def source_at(
    root: Path | str, options: str = "INPUT", scratch: str = ""
) -> tuple[Claim, beam.PTransform]:
    """(claim, source) of the input at `root`."""
    config = config_of(options, root)
    scratch = scratch or f"{root}.scratch"
    found = find_input(config, scratch)
    return found, source_of(complete(config, found), found, scratch)


class AllElements(beam.PTransform):
    """The elements of a source, including unaccounted ones, as one PCollection."""

    def __init__(self, source: beam.PTransform) -> None:
        super().__init__()
        self._source = source

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        found = pipeline | "Source" >> self._source
        elements = (found if isinstance(found, tuple) else (found,)) | beam.Flatten()
        return elements | beam.Filter(lambda each: not isinstance(each, Consumed))


def elements_of(path: Path | str, **options: Any) -> list[Any]:
    """Read the elements of the input at `path`; options are those of `BuildConfig`."""
    config = BuildConfig(input=str(path), **options)
    return yielded(source_of(config, find_input(config), f"{path}.scratch"))


def records_of(path: Path | str, **options: Any) -> list[Record]:
    """The records among `elements_of`."""
    return [element for element in elements_of(path, **options) if isinstance(element, Record)]


def values_of(array: Array) -> np.ndarray:
    """The values of an array that a record contains or refers to."""
    data = array.data or (storage.read_bytes(array.file) if array.file else b"")
    return np.frombuffer(data, np.dtype(array.dtype).newbyteorder("<")).reshape(array.shape)


def options_of_case(case: Path) -> str:
    """The options of a case, for INPUT."""
    options = case / "options"
    return options.read_text() if options.exists() else "INPUT"
