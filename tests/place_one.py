"""`place_column` of one record."""

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.boxes import place_column


def place(objects, frame, **options):
    """The objects of one record as fractions, and what was changed; raises its RecordError."""
    [placed] = place_column([objects], [frame], **options)
    if isinstance(placed, RecordError):
        raise placed
    return placed
