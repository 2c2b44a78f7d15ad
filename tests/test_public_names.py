"""Editors and type checkers see the API of the packages, which is loaded on first use."""

import ast
import importlib
import pydoc
import re
import subprocess
import sys
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


SCRIPT = """
import beam_pipeline
import tfrecord_dataset
import trainer

config = beam_pipeline.BuildConfig(input="photos", output="data")
info = beam_pipeline.build(config)
reveal_type(config)
reveal_type(info)
reveal_type(tfrecord_dataset.open("x")["train"][3])
reveal_type(trainer.open("x").batches)
row = trainer.train(info.path, "run", epochs=3, inputs=["image"], image_size=64)
reveal_type(row)
reveal_type(trainer.open("x").batches())
reveal_type(trainer.evaluate("run", "x"))
reveal_type(trainer.open_run("run").classes)
beam_pipeline.BuildConfig(inputt="photos")
trainer.train(info.path, "run", epoch=3)
trainer.predcit("run", "x")
beam_pipeline.bild(config)
tfrecord_dataset.opne("x")
"""


@pytest.mark.slow
def test_a_strict_type_checker_on_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    lines = [line for line in done.stdout.splitlines() if "script.py" in line]
    assert [line.rpartition(": ")[2] for line in lines if "note" in line and "Revealed" in line]
    assert "Any" not in " ".join(lines[:2])
    assert "beam_pipeline.config.BuildConfig" in lines[0]
    assert "beam_pipeline.dataset.opening.Dataset" in lines[1]
    assert "dict[" in lines[2]
    assert "shuffle: bool" in lines[3]
    errors = [line for line in lines if "error" in line]
    assert "dict[str, float]" in lines[4]
    assert "Batches" in lines[5]
    assert "dict[str, float]" in lines[6]
    assert "tuple[str, ...]" in lines[7]
    assert len(errors) == 5
    assert 'Unexpected keyword argument "inputt"' in errors[0]
    assert 'Unexpected keyword argument "epoch"' in errors[1]
    for error, name in zip(errors[2:], ("predcit", "bild", "opne"), strict=True):
        assert f'has no attribute "{name}"' in error
