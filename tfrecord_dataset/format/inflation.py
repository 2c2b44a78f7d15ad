"""Limits on the unpacked size of a file, in bytes and rows."""

from tfrecord_dataset.errors import RecordError

TOO_LARGE = "file too large"
# Both limits must be exceeded: text rarely reaches a ratio of 50, an array of zeros 1,000.
MAX_BYTES = 256 << 20
MAX_RATIO = 100
# A record's content is in memory up to five times until it is written.
_MAX_RECORD_BYTES = 128 << 20
# Both as above: a row of CSV has at least two bytes, and compresses to a tenth.
MAX_ROWS = 1_000_000
_ROWS_PER_BYTE = 10


def is_inflated(packed_bytes: int, content_bytes: int, *, in_a_record: bool = False) -> bool:
    """Whether content, perhaps of one record, is large and far larger than its file."""
    return content_bytes > _most(in_a_record) and content_bytes > MAX_RATIO * packed_bytes


def _most(in_a_record: bool) -> int:
    return _MAX_RECORD_BYTES if in_a_record else MAX_BYTES


def check_inflation(
    name: str, packed_bytes: int, content_bytes: int, *, in_a_record: bool = False
) -> None:
    """Check the size of content against that of its file.

    Raises:
        RecordError: "file too large".
    """
    if is_inflated(packed_bytes, content_bytes, in_a_record=in_a_record):
        raise RecordError(
            TOO_LARGE,
            f"{name} unpacks to over {_most(in_a_record) >> 20} MiB and over {MAX_RATIO} times "
            "its size; if this is intended, save it uncompressed",
        )


def check_rows(name: str, file_bytes: int, rows: int) -> None:
    """Check the number of a file's rows against its size.

    Raises:
        RecordError: "file too large".
    """
    if rows > max(MAX_ROWS, _ROWS_PER_BYTE * file_bytes):
        raise RecordError(
            TOO_LARGE,
            f"{name} has {rows:,} rows or more in {file_bytes:,} bytes; if this is intended, "
            "save it as uncompressed CSV",
        )
