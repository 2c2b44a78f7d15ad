"""`python -m beam_pipeline`: sets up logging, then runs the commands."""

import logging
import sys


def main() -> int:
    """Runs the command line; returns its exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # Beam says at its import that BigQuery's client is missing; nobody here asks for it.
    logging.getLogger().addFilter(lambda record: "apitools not found" not in record.getMessage())
    from beam_pipeline import commands

    return commands.main()


if __name__ == "__main__":
    sys.exit(main())
