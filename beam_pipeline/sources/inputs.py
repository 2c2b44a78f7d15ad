"""From the configured input to the transform that reads it."""

import dataclasses

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.sources import detection
from beam_pipeline.sources.folders.layout import LAYOUT as FOLDERS
from beam_pipeline.sources.layout import Input, Layout
from beam_pipeline.sources.registry import AUTO, layout_named, own_layouts


def find_input(config: BuildConfig) -> Input:
    """The configured input with its layout: as named, or found by looking.

    Raises:
        ConfigError: There is no input, or it is not of the named or any known layout.
    """
    if config.layout != AUTO:
        _check_options(config, layout_named(config.layout))
    if not config.input:
        raise ConfigError("an input is needed: a folder, an annotation file or a manifest")
    if config.path_pattern:
        found = Input(FOLDERS, config.input, f"folders: files named {config.path_pattern}")
    elif config.layout == AUTO:
        found = detection.detect(config.input)
    else:
        return detection.resolve(config.input, config.layout)
    _check_options(config, found.layout)
    return found


def _check_options(config: BuildConfig, layout: Layout) -> None:
    """Raises ConfigError for an option of other layouts, which this one would not look at."""
    if layout.takes is None:
        return
    takers: dict[str, list[str]] = {}
    for each in own_layouts().values():
        for option in each.takes or ():
            takers.setdefault(option, []).append(each.name)
    for field in dataclasses.fields(config):
        option, value = field.name, getattr(config, field.name)
        if option in layout.takes or option not in takers or value in (field.default, ()):
            continue
        shown = value if isinstance(value, str) else ",".join(value)
        raise ConfigError(
            f"--{option.replace('_', '-')} {shown} is for {' and '.join(takers[option])}; leave "
            f"it out, for the input is read as {layout.name}, or name another --layout"
        )


def complete(config: BuildConfig, input_: Input) -> BuildConfig:
    """`config` with what only a look into the input tells: the keys of a declared schema.

    Raises:
        ConfigError: The input has no such feature, or cannot be what `config` asks for.
    """
    layout = input_.layout
    return layout.complete(config, input_.path) if layout.complete else config


def source_of(config: BuildConfig, input_: Input, scratch: str) -> beam.PTransform:
    """The transform that reads the configured input.

    Compressed inputs that must be files as they are get unpacked into the folder `scratch`.
    """
    return input_.layout.read(input_.path, config, scratch)
