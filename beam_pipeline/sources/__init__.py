"""One PTransform a layout; each yields `Record | Rejected | DeclaredClasses`."""

import functools
import math
from collections.abc import Callable

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.sources import layout
from beam_pipeline.sources.arrays.read import ReadArrays
from beam_pipeline.sources.coco.read import ReadCoco
from beam_pipeline.sources.folders import ReadClassFolders
from beam_pipeline.sources.layout import Layout
from beam_pipeline.sources.manifest.read import ReadCsv, ReadJsonl
from beam_pipeline.sources.tar.read import ReadTar
from beam_pipeline.sources.tfrecord.declared import settled_with_keys
from beam_pipeline.sources.tfrecord.read import ReadTFRecords
from beam_pipeline.sources.voc.read import ReadVoc
from beam_pipeline.sources.yolo.read import ReadYolo

__all__ = [
    "ReadArrays",
    "ReadClassFolders",
    "ReadCoco",
    "ReadCsv",
    "ReadJsonl",
    "ReadTFRecords",
    "ReadTar",
    "ReadVoc",
    "ReadYolo",
    "find_layout",
    "settled",
    "source_of",
]


def find_layout(config: BuildConfig) -> Layout:
    """The layout of the configured input: as named, or found by looking.

    Raises:
        ConfigError: There is no input, or it is not of the named or any known layout.
    """
    if not config.input:
        raise ConfigError("an input is needed: a folder, an annotation file or a manifest")
    if config.path_pattern:
        if config.layout not in ("auto", "folders"):
            raise ConfigError(
                f"--path-pattern {config.path_pattern!r} is for folders of files; leave it out "
                f"with --layout {config.layout}"
            )
        return Layout(
            name="folders", path=config.input, found=f"folders: files called {config.path_pattern}"
        )
    if config.layout == "auto":
        return layout.detect(config.input)
    return layout.resolve(config.input, config.layout)


def settled(config: BuildConfig, found: Layout) -> BuildConfig:
    """`config` with what only a look into the input tells: the keys of a declared schema.

    Raises:
        ConfigError: The input has no such feature, or cannot be what `config` asks for.
    """
    return settled_with_keys(config, found.path) if found.name == "tfrecord" else config


def source_of(config: BuildConfig, found: Layout, scratch: str) -> beam.PTransform:
    """The transform that reads the configured input, whose layout was `found`.

    Compressed inputs that must be files as they are get unpacked into the folder `scratch`.
    """
    missing_number = math.nan if config.missing_numbers == "nan" else None
    match found.name:
        case "folders":
            return ReadClassFolders(found.path, path_pattern=config.path_pattern or None)
        case "voc":
            return ReadVoc(found.path)
        case "yolo":
            return ReadYolo(found.path)
        case "coco":
            return ReadCoco(found.path, image_root=config.image_root or None)
        case "tfrecord":
            return ReadTFRecords(found.path, scratch)
        case "tar":
            return ReadTar(
                found.path,
                label_column=config.label_column,
                ignore_columns=config.ignore_columns,
                classes=config.classes,
                schema=config.schema,
                missing_number=missing_number,
            )
        case "arrays":
            return ReadArrays(
                found.path,
                scratch,
                label_column=config.label_column,
                ignore_columns=config.ignore_columns,
                classes=config.classes,
                schema=config.schema,
            )
    read_manifest: Callable[..., beam.PTransform] = ReadJsonl
    if found.name == "csv":
        read_manifest = functools.partial(ReadCsv, column_names=config.column_names)
    return read_manifest(
        found.path,
        image_root=config.image_root or None,
        image_column=config.image_column or None,
        audio_column=config.audio_column or None,
        label_column=config.label_column or None,
        split_column=config.split_column or None,
        box_format=config.box_format or None,
        ignore_columns=config.ignore_columns,
        classes=config.classes,
        schema=config.schema,
        missing_number=missing_number,
        divided=len(config.split) > 1,
    )
