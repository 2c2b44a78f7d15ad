"""`python -m beam_pipeline`: sets up logging, then runs the commands."""

import contextlib
import gc
import logging
import multiprocessing.util
import os
import sys


def main() -> int:
    """Runs the command line; returns its exit code."""
    gc.disable()  # imports leave a million objects: going through them took a quarter of the start
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # Beam says at its import that BigQuery's client is missing; nobody here asks for it.
    logging.getLogger().addFilter(lambda record: "apitools not found" not in record.getMessage())
    from beam_pipeline.running import parallel

    if _builds_here(sys.argv[1:]):
        # They start while this process imports Beam, which takes as long.
        parallel.start_processes(parallel.usable_cpus())
    try:
        from beam_pipeline.cli import commands

        gc.freeze()
        gc.enable()
        return commands.main()
    finally:
        parallel.end_processes()


def _builds_here(arguments: list[str]) -> bool:
    """Whether a build on this machine, in this process, seems to be asked for."""
    others = ("-h", "--help", "--runner", "--direct_", "--threads")
    return arguments[:1] in (["build"], ["plan"]) and not any(
        argument.startswith(others) for argument in arguments
    )


if __name__ == "__main__":
    try:
        code = main()
    except KeyboardInterrupt:  # while modules are loaded; the commands explain theirs
        print("interrupted", file=sys.stderr)
        code = 1
    # os._exit leaves these out: without them loky tells of semaphores that have leaked.
    multiprocessing.util._run_finalizers(0)  # type: ignore[attr-defined]
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.flush()
    # Not sys.exit: on a busy machine native libraries that Beam loads, whose threads are
    # ending at that moment, aborted one process in eighty after its work was done.
    os._exit(code)
