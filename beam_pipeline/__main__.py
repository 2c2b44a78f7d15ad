"""`python -m beam_pipeline`: runs the commands; imports them inside `run` to catch Ctrl-C."""

import os
import sys
from typing import NoReturn


def run() -> NoReturn:
    """The installed command `beam-tfrecords`."""
    try:
        from beam_pipeline.cli import program

        program.run()
    except KeyboardInterrupt:  # during the import
        print("interrupted", file=sys.stderr)
        os._exit(130)


if __name__ == "__main__":
    run()
