"""A file of a dataset, compared with what it should state."""

from collections.abc import Callable, Iterator
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage


def compare_file(
    directory: str, name: str, parse: Callable[[str], Any], expected: Any, problem: str
) -> Iterator[str]:
    """Yields what is wrong with the file `name`, in a line: nothing where it is as expected.

    Args:
        directory: The dataset's.
        name: The file's path in it.
        parse: What the file's text states.
        expected: What it should state.
        problem: What is wrong where it states something else.
    """
    try:
        stated = parse(storage.read_text(storage.join(directory, name)))
    except RecordError as error:
        yield f"{name}: {error.reason}"
    except (ValueError, KeyError, TypeError) as error:
        yield f"{name}: is invalid: {error!r}"
    else:
        if stated != expected:
            yield f"{name}: {problem}"
