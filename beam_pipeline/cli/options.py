"""The options of `build` and `plan`: those of a BuildConfig."""

import argparse

from beam_pipeline.build_options import HEADINGS
from beam_pipeline.config import BuildConfig
from beam_pipeline.schema.declaration import read_schema
from beam_pipeline.sources.registry import layout_names
from tfrecord_dataset.options import add_options, from_arguments


def add_build_options(parser: argparse.ArgumentParser) -> None:
    """Adds every option of a BuildConfig, but for the output."""
    add_options(parser, BuildConfig, headings=HEADINGS, choices={"layout": layout_names()})


def build_config(args: argparse.Namespace) -> BuildConfig:
    """The configuration that parsed arguments ask for."""
    given = vars(args)
    if "schema" in given:
        given = given | {"schema": read_schema(given["schema"])}
    return from_arguments(BuildConfig, given, output=given.get("output", ""))
