"""How a line of the log looks to a user of a command."""

import logging

_OURS = ("beam_pipeline", "trainer", "tfrecord_dataset")
# What a reader has chosen, with the option that chooses otherwise, is nothing to worry about.
_NOTES = ("beam_pipeline.sources", "tfrecord_dataset.bare_files")


class LogLines(logging.Formatter):
    """ "note: …" and "warning: …" of these packages; of others their level and name besides."""

    def __init__(self) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record."""
        is_ours = record.name.partition(".")[0] in _OURS
        if not is_ours or record.levelno != logging.WARNING or record.exc_info:
            return super().format(record)
        return f"{'note' if record.name.startswith(_NOTES) else 'warning'}: {record.getMessage()}"


def set_up() -> None:
    """Shows warnings and errors on stderr, a line each."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
