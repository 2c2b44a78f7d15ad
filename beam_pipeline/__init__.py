"""Builds sharded TFRecords that describe themselves from raw files, with Apache Beam.

    config = beam_pipeline.BuildConfig(input="photos", output="data")
    info = beam_pipeline.build(config)

Names are loaded on first use, so that `import beam_pipeline` costs nothing.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from beam_pipeline import recipe as recipe
    from beam_pipeline.config import BuildConfig as BuildConfig
    from beam_pipeline.dataset.adoption import adopt as adopt
    from beam_pipeline.dataset.difference import Difference as Difference
    from beam_pipeline.dataset.difference import diff as diff
    from beam_pipeline.dataset.opening import Dataset as Dataset
    from beam_pipeline.dataset.opening import open as open
    from beam_pipeline.dataset.verification import verify as verify
    from beam_pipeline.errors import BeamTFRecordsError as BeamTFRecordsError
    from beam_pipeline.errors import ConfigError as ConfigError
    from beam_pipeline.errors import DataError as DataError
    from beam_pipeline.media.audio import AudioOptions as AudioOptions
    from beam_pipeline.media.images import ImageOptions as ImageOptions
    from beam_pipeline.pipeline import WriteDataset as WriteDataset
    from beam_pipeline.pipeline import build as build
    from beam_pipeline.pipeline import plan as plan
    from beam_pipeline.records import Array as Array
    from beam_pipeline.records import Audio as Audio
    from beam_pipeline.records import ClassLabel as ClassLabel
    from beam_pipeline.records import ClassLabels as ClassLabels
    from beam_pipeline.records import Consumed as Consumed
    from beam_pipeline.records import DeclaredClasses as DeclaredClasses
    from beam_pipeline.records import FileRef as FileRef
    from beam_pipeline.records import Image as Image
    from beam_pipeline.records import Map as Map
    from beam_pipeline.records import Objects as Objects
    from beam_pipeline.records import RawFile as RawFile
    from beam_pipeline.records import Record as Record
    from beam_pipeline.records import Rejected as Rejected
    from beam_pipeline.report.page import write_report as write_report
    from beam_pipeline.schema.declaration import parse_schema as parse_schema
    from beam_pipeline.schema.declaration import read_schema as read_schema
    from beam_pipeline.sources.arrays import ReadArrays as ReadArrays
    from beam_pipeline.sources.folders.read_folders import ReadClassFolders as ReadClassFolders
    from beam_pipeline.sources.layout import Claim as Claim
    from beam_pipeline.sources.layout import Layout as Layout
    from beam_pipeline.sources.layout import Rank as Rank
    from beam_pipeline.sources.layout import claim_of_files as claim_of_files
    from beam_pipeline.sources.tables.csv import ReadCsv as ReadCsv
    from beam_pipeline.sources.tables.json import ReadJsonl as ReadJsonl
    from beam_pipeline.sources.tar.read_tar import ReadTar as ReadTar
    from beam_pipeline.sources.tfrecord.read_tfrecords import ReadTFRecords as ReadTFRecords
    from tfrecord_dataset.format.feature import Feature as Feature

    __version__: str

_NAMES = {
    "config": "BuildConfig",
    "media.images": "ImageOptions",
    "media.audio": "AudioOptions",
    "pipeline": "WriteDataset build plan",
    "dataset.adoption": "adopt",
    "dataset.difference": "Difference diff",
    "report.page": "write_report",
    "dataset.opening": "Dataset open",
    "dataset.verification": "verify",
    "schema.declaration": "Feature parse_schema read_schema",
    "records": (
        "Array Audio ClassLabel ClassLabels DeclaredClasses FileRef Image Map Objects RawFile "
        "Record Rejected Consumed"
    ),
    "sources.layout": "Claim Layout Rank claim_of_files",
    "sources.arrays": "ReadArrays",
    "sources.folders.read_folders": "ReadClassFolders",
    "sources.tables.csv": "ReadCsv",
    "sources.tables.json": "ReadJsonl",
    "sources.tfrecord.read_tfrecords": "ReadTFRecords",
    "sources.tar.read_tar": "ReadTar",
    "errors": "BeamTFRecordsError ConfigError DataError",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

# Modules that users refer to by name.
_SUBMODULES = frozenset({"recipe"})

__all__ = sorted(_MODULES)

if not TYPE_CHECKING:  # type checkers would accept any name

    def __getattr__(name):
        if name == "__version__":
            return importlib.import_module("tfrecord_dataset.command_line").version()
        if name in _SUBMODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from beam_pipeline import beam_import  # here: it imports logging

        with beam_import.quiet():
            module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
        return getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES, "__version__"])
