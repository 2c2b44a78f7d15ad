"""`python -m trainer`: imports the commands lazily, so that Ctrl-C works during the import."""

import os
import sys
from typing import NoReturn


def run() -> NoReturn:
    """Run the installed command `beam-tfrecords-train`."""
    try:
        from trainer import commands

        commands.run()
    except KeyboardInterrupt:  # during the import
        print("interrupted", file=sys.stderr)
        os._exit(130)


if __name__ == "__main__":
    run()
