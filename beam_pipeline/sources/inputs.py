"""From the configured input to the transform that reads it."""

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.sources import detection
from beam_pipeline.sources.folders.layout import LAYOUT as FOLDERS
from beam_pipeline.sources.layout import Input
from beam_pipeline.sources.registry import AUTO, layout_named


def find_input(config: BuildConfig) -> Input:
    """The configured input with its layout: as named, or found by looking.

    Raises:
        ConfigError: There is no input, or it is not of the named or any known layout.
    """
    if config.layout != AUTO:
        layout_named(config.layout)
    if not config.input:
        raise ConfigError("an input is needed: a folder, an annotation file or a manifest")
    if config.path_pattern:
        if config.layout not in (AUTO, FOLDERS.name):
            raise ConfigError(
                f"--path-pattern {config.path_pattern!r} is for folders of files; leave it out "
                f"with --layout {config.layout}"
            )
        return Input(FOLDERS, config.input, f"folders: files named {config.path_pattern}")
    if config.layout == AUTO:
        return detection.detect(config.input)
    return detection.resolve(config.input, config.layout)


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
