"""Jobs in a notebook: not Beam's interactive ones, which want pandas, of a version of its own."""

import contextlib
from collections.abc import Iterator

import apache_beam.pipeline
from apache_beam.utils import interactive_utils

_ASK = (apache_beam.pipeline, interactive_utils)


@contextlib.contextmanager
def as_in_a_program() -> Iterator[None]:
    """While a job is made and run here, Beam takes no IPython for the place of its own runner.

    In one it imports that runner to label stages by cells, and leaves temporary files to it.
    """
    kept = [module.is_in_ipython for module in _ASK]
    for module in _ASK:
        module.is_in_ipython = lambda: False
    try:
        yield
    finally:
        for module, is_in_ipython in zip(_ASK, kept, strict=True):
            module.is_in_ipython = is_in_ipython
