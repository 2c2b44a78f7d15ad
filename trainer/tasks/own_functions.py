"""Functions of the user, which options name by `package.module:function`."""

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from trainer.errors import ConfigError


def find_function(path: str) -> Callable[..., Any]:
    """Import the function `package.module:function`, perhaps from the working directory.

    Raises:
        ConfigError: The function does not exist.
    """
    module_name, colon, name = path.partition(":")
    if not (module_name and colon and name):
        raise ConfigError(f"--model-fn {path} cannot be read; give package.module:function")
    directory = os.getcwd()
    sys.path.insert(0, directory)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigError(
            f"--model-fn {path}: {error}; run where {module_name} can be imported"
        ) from error
    finally:
        sys.path.remove(directory)
    function = getattr(module, name, None)
    if not callable(function):
        names = [each for each, value in vars(module).items() if callable(value)]
        raise ConfigError(
            f"--model-fn {path}: {module_name} has no function {name!r}; it has "
            f"{', '.join(sorted(names)) or 'none'}"
        )
    return function  # type: ignore[no-any-return]


def path_of(part: Any) -> str:
    """Return `package.module:function` for a function, or for another object its type."""
    if hasattr(part, "__qualname__"):
        return f"{part.__module__}:{part.__qualname__}"
    return f"an object of {type(part).__module__}.{type(part).__qualname__}"
