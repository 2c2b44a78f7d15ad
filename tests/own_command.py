"""`python -m own_command train …`: the trainer's command with the parts of a module `mine`.

The module is in the working directory; what it names `OWN` are arguments of `OwnParts`.
"""

import functools
import sys

from trainer import commands as program
from trainer import startup


def main() -> int:
    """Runs the command; returns its exit code."""
    startup.set_up(deterministic="--deterministic" in sys.argv)
    with startup.importing():
        from trainer.runs import train
        from trainer.runs.preparing import OwnParts
    sys.path.insert(0, "")
    import mine  # type: ignore[import-not-found]

    train.train = functools.partial(train.train, own=OwnParts(**mine.OWN))
    return program.main()


if __name__ == "__main__":
    sys.exit(main())
