"""croissant.json: the files and their content in the format of mlcommons.org/croissant/1.0.

Its readers do not support TFRecord (mlcroissant 1.1): they read the rows of the Parquet index.
"""

import json
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe.index import arrow_schema, rows_file
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.metadata import FileEntry, ShardEntry

FILE = "croissant.json"

_DESCRIPTION = "TFRecords; metadata.json, which beam-tfrecords wrote, describes what they hold."

_TFRECORD, _PARQUET = "application/x-tfrecord", "application/x-parquet"
_TYPES = {pyarrow.string(): "sc:Text", pyarrow.int64(): "sc:Integer", pyarrow.float32(): "sc:Float"}
# From the specification: some readers accept only this context.
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{
        name: f"cr:{name}"
        for name in (
            *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty"),
            *("fileObject", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key"),
            *("md5", "parentField", "path", "recordSet", "references", "regex", "repeated"),
            *("replace", "samplingRate", "separator", "source", "subField", "transform"),
        )
    },
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}


def croissant(
    config: BuildConfig,
    schema: Sequence[Feature],
    shards: Mapping[str, Sequence[ShardEntry]],
    files: Mapping[str, FileEntry],
) -> str:
    """Render croissant.json; `files` are those of the index, by path."""
    entries = [shard for of_split in shards.values() for shard in of_split]
    indices = {rows_file(shard.file): shard for shard in entries}
    columns = arrow_schema(schema)
    facts = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": config.name,
        "version": config.version,
        **({"license": config.license} if config.license else {}),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "description": _DESCRIPTION,
        "distribution": [
            *(
                _file(entry.file, _TFRECORD, entry.sha256, f"{entry.num_records} tf.train.Examples")
                for entry in entries
            ),
            *(
                _file(path, _PARQUET, files[path].sha256, f"a row per record of {shard.file}")
                for path, shard in indices.items()
            ),
            *(
                {
                    "@type": "cr:FileSet",
                    "@id": _index_of(split),
                    "name": _index_of(split),
                    "description": f"the index of {split}",
                    "encodingFormat": _PARQUET,
                    "includes": [rows_file(each.file) for each in of_split],
                }
                for split, of_split in shards.items()
            ),
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": split,
                "name": split,
                "description": f"what the index tells of each record of {split}",
                "field": [_field(column, split) for column in columns],
            }
            for split in shards
        ],
    }
    return json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def is_ours(text: bytes) -> bool:
    """Whether a croissant.json was written by `croissant`."""
    return _DESCRIPTION.encode() in text


def _file(path: str, encoding: str, sha256: str, description: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "description": description,
        "contentUrl": path,
        "encodingFormat": encoding,
        "sha256": sha256,
    }


def _index_of(split: str) -> str:
    return f"index-{split}"


def _field(column: pyarrow.Field, split: str) -> dict[str, Any]:
    """Describe a column of the index as a field of a split's records."""
    is_list = pyarrow.types.is_list(column.type)
    dtype = column.type.value_type if is_list else column.type
    return {
        "@type": "cr:Field",
        "@id": f"{split}/{urllib.parse.quote(column.name)}",
        "name": column.name,
        "dataType": _TYPES[dtype],
        **({"repeated": True} if is_list else {}),
        "source": {"fileSet": {"@id": _index_of(split)}, "extract": {"column": column.name}},
    }
