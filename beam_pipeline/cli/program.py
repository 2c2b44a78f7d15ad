"""Sets up logging and processes, then runs the commands."""

import atexit
import contextlib
import logging
import os
import sys
from typing import NoReturn

# First, as it ends the program on Windows before imports that fail there.
from beam_pipeline import beam_import
from beam_pipeline.errors import UnavailableError
from beam_pipeline.running import memory
from tfrecord_dataset import posix_only as posix_only
from tfrecord_dataset import standard_streams
from tfrecord_dataset.foreign_errors import shortage


def main() -> int:
    """Run the command line, and return its exit code."""
    standard_streams.set_up_log()
    quiet = contextlib.nullcontext if "--debug" in sys.argv else beam_import.quiet
    if "--debug" not in sys.argv:  # Beam logs the traceback of an error that it also raises
        logging.getLogger("apache_beam.runners.common").setLevel(logging.CRITICAL)
    os.environ.update(memory.ONE_THREAD | memory.ONE_POOL | os.environ)
    memory.use_one_heap()
    from beam_pipeline.running import parallel

    try:
        with quiet(), beam_import.without_pandas(), memory.importing():
            if _works_here(sys.argv[1:]):
                parallel.import_work()
                # Before the import of Beam, which may start threads and is not needed there.
                parallel.start_processes(parallel.usable_cpus())
            from beam_pipeline.cli import commands
        return commands.main()
    finally:
        parallel.end_processes()


def _works_here(arguments: list[str]) -> bool:
    """Whether the arguments seem to request a build or its check in this process."""
    others = ("-h", "--help", "--runner", "--threads")
    return arguments[:1] in (["build"], ["plan"], ["verify"]) and not any(
        argument.startswith(others) for argument in arguments
    )


def run() -> NoReturn:
    """Run the command that the user typed, and exit."""
    standard_streams.guard()
    try:
        code = main()
    except KeyboardInterrupt:  # during imports; commands handle their own
        print("interrupted", file=sys.stderr)
        code = 130
    except Exception as error:
        message = str(error) if isinstance(error, UnavailableError) else shortage(error)
        if not message:
            raise
        print(f"error: {message}", file=sys.stderr)
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.flush()
    # os._exit would skip Beam's end of job servers, which is logged after a command's last line.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    atexit._run_exitfuncs()
    # Not sys.exit: on a busy machine, ending threads of native libraries that Beam loads
    # aborted one process in eighty after its work was done.
    os._exit(code)
