"""What is said of annotations and rows that cannot be used."""

from beam_pipeline.errors import RecordError


def malformed(detail: str) -> RecordError:
    """The error of what is not written as its format has it."""
    return RecordError("malformed annotation", detail)
