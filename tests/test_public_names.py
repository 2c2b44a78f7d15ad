"""Editors and type checkers see the API of the packages, which is loaded on first use."""

import ast
import importlib
import pydoc
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("beam_pipeline", "tfrecord_dataset", "trainer")


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_see_every_name(package):
    tree = ast.parse((ROOT / package / "__init__.py").read_text())
    seen = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module not in ("typing", "collections.abc")
        for name in node.names
    }
    assert set(importlib.import_module(package).__all__) <= seen


@pytest.mark.parametrize("package", PACKAGES)
def test_the_shell_completes_every_name(package):
    module = importlib.import_module(package)
    assert set(module.__all__) | {"__version__"} <= set(dir(module))
    assert module.__version__[0].isdigit()
    for name in dir(module):
        getattr(module, name)


@pytest.mark.parametrize(
    "name", ["beam_pipeline.build", "beam_pipeline.BuildConfig", "trainer.train"]
)
def test_the_help_of_python_is_readable(name):
    text = pydoc.render_doc(name, renderer=pydoc.plaintext)
    assert len(text) < 12_000
    assert max(map(len, text.splitlines())) <= 110
    assert re.search(r"^[ |]+seed: ", text, re.M)
