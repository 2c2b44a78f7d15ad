"""Error for unusable annotations and rows."""

from beam_pipeline.errors import RecordError


def malformed(detail: str) -> RecordError:
    """Return the error for data that violates its format."""
    return RecordError("malformed annotation", detail)
