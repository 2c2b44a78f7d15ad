"""Calls `place_column` for one record."""

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.boxes import place_column


def place(objects, frame, **options):
    """Return one record's objects as fractions, and the changes; raises its RecordError."""
    [placed] = place_column([objects], [frame], **options)
    if isinstance(placed, RecordError):
        raise placed
    return placed
