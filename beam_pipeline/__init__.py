"""Builds sharded TFRecords that describe themselves from raw files, with Apache Beam.

    config = beam_pipeline.BuildConfig(input="photos", output="data")
    info = beam_pipeline.build(config)

Names are loaded on first use, so that `import beam_pipeline` costs nothing.
"""

import importlib
from typing import Any

_MODULES = {
    "BuildConfig": "config",
    "ImageOptions": "media.images",
    "AudioOptions": "media.audio",
    "build": "pipeline",
    "plan": "pipeline",
    "adopt": "dataset.adoption",
    "WriteDataset": "pipeline",
    "salvage": "dataset.salvaging",
    "open_dataset": "dataset.opening",
    "DatasetInfo": "dataset.opening",
    "verify": "dataset.verification.whole_dataset",
    "Feature": "schema.declaration",
    "read_schema": "schema.declaration",
    "parse_schema": "schema.declaration",
    "Record": "records",
    "FileRef": "records",
    "Image": "records",
    "Map": "records",
    "Audio": "records",
    "Array": "records",
    "RawFile": "records",
    "ClassLabel": "records",
    "ClassLabels": "records",
    "Objects": "records",
    "Rejected": "records",
    "DeclaredClasses": "records",
    "Layout": "sources.layout",
    "ReadArrays": "sources.arrays.read",
    "ReadClassFolders": "sources.folders.read",
    "ReadCoco": "sources.coco.read",
    "ReadCsv": "sources.manifest.read",
    "ReadJsonl": "sources.manifest.read",
    "ReadTFRecords": "sources.tfrecord.read",
    "ReadTar": "sources.tar.read",
    "ReadVoc": "sources.voc.layout",
    "ReadYolo": "sources.yolo.layout",
    "BeamTFRecordsError": "errors",
    "ConfigError": "errors",
    "DataError": "errors",
}

# Modules that users refer to by name.
_SUBMODULES = frozenset({"example"})

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
