"""Modules that are loaded at their first use, not where they are imported.

No Beam here: this goes before its import.
"""

import importlib.util
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def import_lazily(names: Iterable[str]) -> None:
    """Lets imports of these modules load them only once something of them is asked for.

    Those that are loaded already, or not installed, stay as they are. (The standard library's
    `LazyLoader` loads a module as soon as it is imported a second time.)
    """
    for name in names:
        spec = None if name in sys.modules else importlib.util.find_spec(name)
        if spec:
            _put_off(spec)


def load_when_called(name: str, callables: Iterable[str]) -> None:
    """Lets `from name import *` load the module only once one of its callables is called.

    That is for names which are asked for at the import, where `import_lazily` would load it.
    """
    stub = ModuleType(name)

    def deferred(attribute: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if sys.modules.get(name) is stub:
                del sys.modules[name]
            return getattr(importlib.import_module(name), attribute)(*args, **kwargs)

        return call

    vars(stub).update({each: deferred(each) for each in callables}, __all__=[*callables])
    sys.modules.setdefault(name, stub)


def _put_off(spec: ModuleSpec) -> None:
    module: Any = importlib.util.module_from_spec(spec)

    def load(attribute: str) -> Any:
        if "__getattr__" in vars(module):  # else the module is loading, or loaded
            del module.__getattr__
            assert spec.loader is not None
            spec.loader.exec_module(module)
        return getattr(module, attribute)

    module.__getattr__ = load
    sys.modules[spec.name] = module
    package, _, name = spec.name.rpartition(".")
    if package:
        setattr(sys.modules[package], name, module)
