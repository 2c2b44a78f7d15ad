"""Beam's TFRecord sink for one shard: it opens, compresses and names the file.

This is the only module that uses Beam's private sink classes.
"""

from typing import Any

import apache_beam as beam
from apache_beam.io.filesystem import CompressedFile, CompressionTypes
from apache_beam.io.tfrecordio import _TFRecordSink

from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.files.hashed import HashedFile


class ShardSink(_TFRecordSink):
    """Beam's TFRecord sink for the shards of one split; each shard needs its own.

    `open_writer(folder, attempt)` opens a writer of a new file in `folder` whose name starts
    with `attempt`: `write(frames)` writes Examples that were framed where they were encoded (a
    third of Beam's time for single records), `close()` returns the path.

    Attributes:
        file: The file on disk, with its sha256 and size.
    """

    file: HashedFile

    def open(self, temp_path: str) -> Any:
        # Beam would compress above the hash, which must be that of the file on disk.
        self.file = HashedFile(open(temp_path, "wb"))  # noqa: SIM115
        if self.compression_type == CompressionTypes.UNCOMPRESSED:
            return self.file
        return CompressedFile(self.file, self.compression_type)

    def write_encoded_record(self, file_handle: Any, value: bytes) -> None:
        file_handle.write(value)

    def final_name(self, shard: int, num_shards: int) -> str:
        """Return a shard's file name in the dataset's directory."""
        return str(self._get_final_name(shard, num_shards)).rpartition("/")[2]


def split_sink(config: BuildConfig, split: str) -> ShardSink:
    """Return a sink for a shard of a split."""
    is_gzip = config.compression == "gzip"
    return ShardSink(
        file_path_prefix=storage.join(config.dataset_dir, f"{config.name}-{split}.tfrecord"),
        coder=beam.coders.BytesCoder(),
        file_name_suffix=".gz" if is_gzip else "",
        num_shards=0,
        shard_name_template=None,
        compression_type=CompressionTypes.GZIP if is_gzip else CompressionTypes.UNCOMPRESSED,
    )
