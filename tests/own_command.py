"""`python -m own_command train …`: the trainer's command, optionally with a signal at a step.

If the working directory has a module `mine`, its `OWN` are the arguments of `OwnParts`.
"""

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from trainer import commands as program
from trainer import startup


def begin(
    folder: Path, *words: Any, at: int | None = None, by: str = "SIGKILL", **environment: str
) -> subprocess.Popen[str]:
    """Start the command in a folder; after step `at` it gets the signal `by`."""
    more = {} if at is None else {"END_AT": str(at), "END_BY": str(int(signal.Signals[by]))}
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more, **environment}
    variables.pop("TF_CPP_MIN_LOG_LEVEL", None)  # set by tests for this process
    command = [sys.executable, "-m", "own_command", *map(str, words)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=variables, text=True, stdout=pipe, stderr=pipe)


def main() -> int:
    """Run the command, and return its exit code."""
    startup.set_up(hides_errors="--deterministic" in sys.argv)
    with startup.importing():
        import keras

        from trainer.runs import train
        from trainer.runs.preparing import OwnParts

    class End(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if int(self.model.optimizer.iterations.numpy()) == int(os.environ.get("END_AT", -1)):
                os.kill(os.getpid(), int(os.environ["END_BY"]))

    sys.path.insert(0, "")
    own = importlib.import_module("mine").OWN if Path("mine.py").exists() else {}
    parts = OwnParts(callbacks=[End()], **own)
    trained = train.train
    train.train = lambda given, dataset=None, own=None: trained(given, dataset, parts)
    return program.main()


if __name__ == "__main__":
    sys.exit(main())
