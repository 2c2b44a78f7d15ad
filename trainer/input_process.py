"""One of several processes that make the batches of a training together: the process itself.

It makes batches where it is asked to, and hands each over in anonymous memory, which has no name
that could be left behind. It ends with its parent.
"""

import importlib
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from trainer import startup

# Of arrays in memory: so TensorFlow takes them over, and copies none.
_ALIGNED = 64
# In which it is noticed that the parent has ended.
_LOOKS_EVERY_S = 1.0

# Makes the batches of one iteration over the dataset, each a list of arrays.
Make = Callable[[int], Iterator[Sequence[Any]]]


class Batch(NamedTuple):
    """Where the arrays of a batch lie in a memory file.

    Attributes:
        num_bytes: Of all of them.
        arrays: Offset and shape of each; the shape is None for a pickled array of objects.
    """

    num_bytes: int
    arrays: list[tuple[int, int, tuple[int, ...] | None]]


class Failure(NamedTuple):
    """Why there is no batch.

    Attributes:
        kind: The name of the exception's class.
        message: TensorFlow's, or the exception with its traceback.
    """

    kind: str
    message: str


def write(file: int, arrays: Sequence[Any]) -> Batch:
    """Writes arrays to a memory file, over what was there."""
    places: list[tuple[int, int, tuple[int, ...] | None]] = []
    end = 0
    for array in arrays:
        offset = -(-end // _ALIGNED) * _ALIGNED
        shape = None if array.dtype == object else array.shape
        data = pickle.dumps(array, 5) if shape is None else np.ascontiguousarray(array).data
        content = memoryview(data).cast("B") if array.size or shape is None else memoryview(b"")
        end = offset + len(content)
        while content:
            content = content[os.pwrite(file, content, end - len(content)) :]
        places.append((offset, end - offset, shape))
    return Batch(end, places)


def read(file: int, batch: Batch, dtypes: Sequence[Any]) -> list[Any]:
    """The arrays of a batch, of these dtypes, in new memory."""
    memory = np.empty(batch.num_bytes + _ALIGNED, np.uint8)
    start = -memory.ctypes.data % _ALIGNED
    memory = memory[start : start + batch.num_bytes]
    have = 0
    while have < batch.num_bytes:  # 2 GiB are the most at once
        have += os.preadv(file, [memory[have:].data], have)
    arrays = []
    for (offset, size, shape), dtype in zip(batch.arrays, dtypes, strict=True):
        content = memory[offset : offset + size]
        arrays.append(
            pickle.loads(content.data) if shape is None else content.view(dtype).reshape(shape)
        )
    return arrays


def main() -> None:
    """Makes batches until the parent needs no more.

    The arguments are two descriptors that are inherited, of the pickled `Make` and of the
    connection, and the number of the process that started this one.
    """
    made_of, descriptor, parent = map(int, sys.argv[1:])
    for each in (signal.SIGINT, signal.SIGTERM):  # the parent's, which ends this one
        signal.signal(each, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    connection = Connection(descriptor)
    try:
        _serve(connection, made_of)
    except (EOFError, ConnectionError):
        os._exit(0)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOKS_EVERY_S)
    os._exit(1)


def function_in(module: str, code: Any, name: str, defaults: Any, closure: Any) -> Any:
    """A function that is not at the top of its module, made again there."""
    names = importlib.import_module(module).__dict__
    return types.FunctionType(code, names, name, defaults, closure)


def _serve(connection: Connection, made_of: int) -> None:
    """Answers each question: an iteration to begin, or the file for its next batch."""
    make: Make | None = None
    batches: Iterator[Sequence[Any]] = iter(())
    iteration: int | None = None
    while True:
        question, number = connection.recv()
        if question == "begin":
            iteration = number
            continue
        answer: Batch | Failure | None
        try:
            if make is None:
                with startup.importing():
                    importlib.import_module("trainer.input_pipeline")
                with os.fdopen(made_of, "rb") as file:  # it may import modules of the user's
                    returns_make = pickle.load(file)
                make = returns_make()
            if iteration is not None:
                batches, iteration = make(iteration), None
            arrays = next(batches, None)
            answer = None if arrays is None else write(number, arrays)
        except Exception as error:  # whatever reading, or the user's function, raises
            kind = type(error).__name__
            own = getattr(error, "message", None)  # of TensorFlow's errors
            answer = Failure(kind, own or f"{kind}: {error}\n{traceback.format_exc()}")
        connection.send(answer)
