"""Beam's TFRecord sink for one shard: it opens, frames, compresses and names the file.

All that this project uses of Beam's private sink classes is in this module.
"""

import hashlib
import os
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystem import CompressedFile, CompressionTypes
from apache_beam.io.tfrecordio import _TFRecordSink

# Once it is loaded, Beam's sink knows the stores that `storage` opens.
import beam_pipeline.files.beam_filesystem  # noqa: F401
from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage


class HashedFile:
    """A new file that hashes and counts the bytes that are written to it.

    A local file is on disk, not only in the page cache, once it is closed.

    Attributes:
        num_bytes: Bytes so far.
    """

    def __init__(self, path: str):
        # Beam would compress above the hash; the hash is that of the file on disk.
        self._handle = storage.create(path)
        self._is_local = not storage.is_remote(path)
        self._digest = hashlib.sha256()
        self.num_bytes = 0

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes so far."""
        return self._digest.hexdigest()

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        self.num_bytes += len(data)
        self._handle.write(data)

    def flush(self) -> None:
        self._handle.flush()

    def close(self) -> None:
        if self._is_local:
            self._handle.flush()
            os.fsync(self._handle.fileno())
        self._handle.close()

    def __getattr__(self, name: str) -> Any:  # what else Beam's CompressedFile asks of a file
        return getattr(self._handle, name)


class ShardSink(_TFRecordSink):
    """Beam's TFRecord sink for the shards of one split; each shard takes a sink of its own.

    `open_writer(folder, attempt)` opens a writer of a new file in `folder` whose name starts
    with `attempt`: `write(example)` frames one serialized Example, `close()` returns the path.

    Attributes:
        file: The file on disk that the writer writes, with its sha256 and size.
    """

    file: HashedFile

    def open(self, temp_path: str) -> Any:
        self.file = HashedFile(temp_path)
        if self.compression_type == CompressionTypes.UNCOMPRESSED:
            return self.file
        return CompressedFile(self.file, self.compression_type)

    def final_name(self, shard: int, num_shards: int) -> str:
        """The file name of a shard in the dataset's directory."""
        return str(self._get_final_name(shard, num_shards)).rpartition("/")[2]

    def report_lineage(self, num_shards: int) -> None:
        """Names the split's files in Beam's lineage metrics, as Beam's own finalisation does."""
        names = [self._get_final_name(shard, num_shards) for shard in range(num_shards)]
        self._report_sink_lineage(self._get_final_name_glob(num_shards), names)


def compression_type(compression: str) -> str:
    """Beam's name for a value of `--compression`."""
    types = {"none": CompressionTypes.UNCOMPRESSED, "gzip": CompressionTypes.GZIP}
    return str(types[compression])


def split_sink(config: BuildConfig, split: str) -> ShardSink:
    """A sink for a shard of a split."""
    return ShardSink(
        file_path_prefix=storage.join(config.dataset_dir, f"{config.name}-{split}.tfrecord"),
        coder=beam.coders.BytesCoder(),
        file_name_suffix=".gz" if config.compression == "gzip" else "",
        num_shards=0,
        shard_name_template=None,
        compression_type=compression_type(config.compression),
    )
