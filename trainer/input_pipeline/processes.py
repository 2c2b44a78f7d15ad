"""Batches that several processes of one host make together.

Each makes every n-th batch of the same order, as a worker of several makes its part of every
batch: so they are those that one process makes, bit for bit. As in Grain and PyTorch's DataLoader,
the parent takes from all in turn; like theirs the processes are new ones, for a fork of
TensorFlow's threads hangs. They are no children of `multiprocessing`, which would run the user's
script again in each.
"""

import collections
import dataclasses
import functools
import io
import itertools
import os
import subprocess
import sys
import tempfile
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, BinaryIO

import cloudpickle
import tensorflow as tf

from trainer import input_process
from trainer.errors import ConfigError
from trainer.input_pipeline.record_source import Reading
from trainer.input_process import Batch, Failure, Make
from trainer.records.order import Share
from trainer.tuning import usual_parallel_calls

# Batches that a process makes before they are taken; it has one more in the making.
_AHEAD = 2

# Not run as a module, whose classes would have another name there.
_COMMAND = "from trainer.input_process import main; main()"

# Makes batches of what is read.
MakeBatches = Callable[[Reading], tf.data.Dataset]


# Not called errors: `tensorflow_errors` looks for the first error in a message, which is the one
# within. By their base TensorFlow chooses the class of its own error, as in one process.
class _MisfitInProcess(ValueError):
    pass


class _FullMemoryInProcess(MemoryError):
    pass


class _FailureInProcess(RuntimeError):
    pass


_AS_RAISED = {
    "InvalidArgumentError": _MisfitInProcess,
    "ResourceExhaustedError": _FullMemoryInProcess,
}


def made_together(make: MakeBatches, reading: Reading, batch_size: int | None) -> tf.data.Dataset:
    """The batches of `make`, made by `reading.processes` processes.

    Args:
        make: Makes them in one process; it is pickled.
        reading: Which records are read.
        batch_size: Of a batch of this worker.

    Raises:
        ConfigError: There are no batches of one size, or what makes them cannot be sent.
    """
    if batch_size is None:
        raise ConfigError(
            "several input processes make batches of one size; give a batch_size without buckets, "
            "or leave out input_processes"
        )
    alone = make(dataclasses.replace(reading, processes=1))
    share = reading.share or Share(batch_size=batch_size)
    calls = reading.tuning.parallel_calls or usual_parallel_calls()
    tuning = dataclasses.replace(
        reading.tuning, parallel_calls=-(-calls // reading.processes), prefetch=1
    )
    parts = [
        dataclasses.replace(
            reading,
            processes=1,
            share=dataclasses.replace(share, process=number, num_processes=reading.processes),
            tuning=tuning,
        )
        for number in range(reading.processes)
    ]
    made_of = [_pickled(functools.partial(_in_process, make, part)) for part in parts]
    specs = tf.nest.flatten(alone.element_spec, expand_composites=True)
    dtypes = [spec.dtype.as_numpy_dtype for spec in specs]
    iterations = itertools.count()
    started: list[_Process] = []
    idle: list[list[_Process]] = []

    def together() -> Iterator[tuple[Any, ...]]:
        iteration = next(iterations)
        if idle:
            processes = idle.pop()
        else:
            processes = [_Process(each, dtypes) for each in made_of]
            started.extend(processes)
        try:
            for each in processes:
                each.begin(iteration)
            for each in itertools.cycle(processes):
                arrays = each.take()
                if arrays is None:
                    return
                yield tuple(arrays)
        except Exception:
            _end_all(processes)
            raise
        finally:
            if processes[0].end.alive:
                idle.append(processes)  # for the next iteration

    arrays = tf.data.Dataset.from_generator(together, output_signature=tuple(specs))
    # TensorFlow keeps the generator as long as this process lives.
    weakref.finalize(arrays, _end_all, started)
    count = alone.cardinality()
    if count != tf.data.UNKNOWN_CARDINALITY:
        arrays = arrays.apply(tf.data.experimental.assert_cardinality(count))
    return arrays.map(
        lambda *flat: tf.nest.pack_sequence_as(
            alone.element_spec, list(flat), expand_composites=True
        ),
        num_parallel_calls=1,
        deterministic=True,
    )


class _Pickler(cloudpickle.Pickler):
    """Lets a function within another have all of its module's names, as where it comes from.

    `tf.function` reads how it is written, with names that it does not use when it is called.
    """

    def reducer_override(self, thing: Any) -> Any:
        # Of a function within another, <locals> or <lambda> is part of the name.
        if isinstance(thing, types.FunctionType) and "<" in thing.__qualname__:
            module = thing.__globals__.get("__name__")  # `__module__` of a wrapper is another's
            if module in sys.modules and module != "__main__":
                facts = (thing.__code__, thing.__name__, thing.__defaults__, thing.__closure__)
                named = {"__module__": thing.__module__, "__kwdefaults__": thing.__kwdefaults__}
                return input_process.function_in, (module, *facts), (None, named | vars(thing))
        return super().reducer_override(thing)


def _pickled(made_of: Callable[[], Make]) -> bytes:
    content = io.BytesIO()
    try:
        _Pickler(content).dump(made_of)
    except Exception as error:  # whatever a user's object raises
        raise ConfigError(
            f"what makes batches cannot be sent to an input process ({error}); leave out "
            "input_processes, or define functions without such objects"
        ) from error
    return content.getvalue()


def _end_all(processes: Sequence["_Process"]) -> None:
    for each in processes:
        each.end()


def _in_process(make: MakeBatches, reading: Reading) -> Make:
    """In the process: what makes the batches of an iteration, each as its arrays."""
    now = [0]
    batches = make(dataclasses.replace(reading, iteration=lambda: now[0]))

    def arrays(iteration: int) -> Iterator[Sequence[Any]]:
        now[0] = iteration
        for batch in batches:
            yield [each.numpy() for each in tf.nest.flatten(batch, expand_composites=True)]

    return arrays


class _Process:
    """A process that makes batches, `_AHEAD` of them before they are taken.

    Args:
        made_of: The pickled function that returns `input_process.Make`.
        dtypes: Of the arrays of a batch.
    """

    def __init__(self, made_of: bytes, dtypes: Sequence[Any]) -> None:
        self._dtypes = dtypes
        self._files = [_memory_file() for _ in range(_AHEAD)]
        self._connection, other = Pipe()
        with _memory_file() as code, other:
            code.write(made_of)
            code.seek(0)
            handed = [code.fileno(), other.fileno()]
            command = [sys.executable, "-c", _COMMAND, *handed, os.getpid()]
            self._process = subprocess.Popen(
                [*map(str, command)],
                pass_fds=[*handed, *(file.fileno() for file in self._files)],
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=2,  # this process's stdout is for results
            )
        self.end = weakref.finalize(self, _end, self._process, self._connection, self._files)
        self._asked: collections.deque[BinaryIO] = collections.deque()

    def begin(self, iteration: int) -> None:
        """Begins another iteration over the batches; those of the last one are left."""
        while self._asked:
            self._answer()
        self._ask("begin", iteration)
        for file in self._files:
            self._ask_for_batch(file)

    def take(self) -> Sequence[Any] | None:
        """The next batch; None at the end.

        Raises:
            ValueError, MemoryError, RuntimeError: There is none, with TensorFlow's message.
        """
        file, answer = self._answer()
        if answer is None:
            return None
        if isinstance(answer, Failure):
            raise _AS_RAISED.get(answer.kind, _FailureInProcess)(answer.message)
        arrays = input_process.read(file.fileno(), answer, self._dtypes)
        self._ask_for_batch(file)
        return arrays

    def _ask_for_batch(self, file: BinaryIO) -> None:
        self._ask("batch", file.fileno())
        self._asked.append(file)

    def _ask(self, question: str, number: int) -> None:
        try:
            self._connection.send((question, number))
        except OSError as error:
            raise self._ended() from error

    def _answer(self) -> tuple[BinaryIO, Batch | Failure | None]:
        try:
            answer = self._connection.recv()
        except (OSError, EOFError) as error:
            raise self._ended() from error
        return self._asked.popleft(), answer

    def _ended(self) -> RuntimeError:
        code = self._process.wait()
        return _FailureInProcess(
            f"TrainerError: an input process ended (exit code {code}; -9 is often a full memory); "
            "take fewer by --input-processes"
        )


def _end(process: subprocess.Popen[bytes], connection: Connection, files: list[BinaryIO]) -> None:
    """Ends a process, which has nothing to lose."""
    process.kill()
    process.wait()
    connection.close()
    for file in files:
        file.close()


def _memory_file() -> BinaryIO:
    """A file without a name, in memory where the system has that; it ends with its last user."""
    if not hasattr(os, "memfd_create"):
        return tempfile.TemporaryFile()
    return open(os.memfd_create("batch"), "r+b")


def _environment() -> dict[str, str]:
    """That of an input process: the modules of this one, but none of its GPUs."""
    folders = [folder or os.getcwd() for folder in sys.path]
    others = {"PYTHONPATH": os.pathsep.join(folders), "CUDA_VISIBLE_DEVICES": "-1"}
    return {**os.environ, **others}
