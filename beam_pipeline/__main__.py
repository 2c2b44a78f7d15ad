"""`python -m beam_pipeline`: sets up logging, then runs the commands."""

import contextlib
import logging
import os
import sys


def main() -> int:
    """Runs the command line; returns its exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # Beam says at its import that BigQuery's client is missing; nobody here asks for it.
    logging.getLogger().addFilter(lambda record: "apitools not found" not in record.getMessage())
    from beam_pipeline.cli import commands

    return commands.main()


if __name__ == "__main__":
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.flush()
    # Not sys.exit: on a busy machine native libraries that Beam loads, whose threads are
    # ending at that moment, aborted one process in eighty after its work was done.
    os._exit(code)
