"""Public names are seen by editors and type checkers, and have examples, which all run."""

import ast
import doctest
import importlib
import inspect
import pydoc
import re
import shutil
from pathlib import Path

import pytest

import beam_pipeline
import tfrecord_dataset
import trainer
from tfrecord_dataset.errors import ConfigError

_CELLS = Path(__file__).parent.parent / "examples/data/cells"
_PACKAGES = (beam_pipeline, tfrecord_dataset, trainer)
# Classes that users make or call, in addition to functions.
_CLASSES = (
    *(beam_pipeline.BuildConfig, beam_pipeline.ImageOptions, beam_pipeline.AudioOptions),
    *(beam_pipeline.WriteDataset, beam_pipeline.Record),
    *(trainer.Views, trainer.ImageCache),
)
_METHODS = (*(trainer.Dataset.batches, trainer.Dataset.numpy, tfrecord_dataset.Dataset.records),)
# Modules with one example for all functions.
_MODULES = ("tfrecord_dataset.format.example", "tfrecord_dataset.records.access")


def _functions():
    named = (getattr(package, name) for package in _PACKAGES for name in package.__all__)
    return [each for each in named if inspect.isroutine(each)]


def _examples(documented):
    globs = {package.__name__: package for package in _PACKAGES}
    text = inspect.getdoc(documented) or ""
    return doctest.DocTestParser().get_doctest(text, globs, documented.__name__, None, 0)


_DOCUMENTED = [*_functions(), *_CLASSES, *_METHODS]


@pytest.mark.parametrize("documented", _DOCUMENTED, ids=lambda each: each.__qualname__)
def test_there_is_an_example(documented):
    assert _examples(documented).examples


@pytest.mark.parametrize("package", [*_PACKAGES[:2], pytest.param(trainer, marks=pytest.mark.slow)])
def test_the_examples_run(package, tmp_path, monkeypatch):
    for name in ("Platelets", "RBC", "WBC"):
        (tmp_path / "cells" / name).mkdir(parents=True)
        for image in sorted((_CELLS / name).iterdir())[:10]:
            shutil.copy(image, tmp_path / "cells" / name)
    monkeypatch.chdir(tmp_path)
    # Beam's default runner is downloaded, if possible.
    monkeypatch.setattr("tfrecord_dataset.store.clients.LIMIT_S", 0.1)
    split = {"train": 0.8, "test": 0.2}
    made = beam_pipeline.build(beam_pipeline.BuildConfig(input="cells", output="data", split=split))
    ours = shutil.ignore_patterns("metadata.json", "index", "idx")
    shutil.copytree(made.path, "others", ignore=ours)
    modules = [importlib.import_module(name) for name in _MODULES]
    named = {each: inspect.getmodule(each).__name__ for each in (*_DOCUMENTED, *modules)}
    texts = [_examples(each) for each in named if named[each].startswith(package.__name__)]
    # The other examples read its run.
    texts.sort(key=lambda text: text.name != "train")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for text in texts:
        said: list[str] = []
        assert runner.run(text, out=said.append).failed == 0, "".join(said)
    assert runner.tries


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


@pytest.mark.parametrize("package", [beam_pipeline, tfrecord_dataset, trainer])
@pytest.mark.parametrize("value", [5, None, b"data/cells", "", [], [3]])
def test_what_is_not_a_path_is_refused_in_words(package, value):
    with pytest.raises(
        ConfigError, match="is not a path; give the path of a dataset's folder or files"
    ):
        package.open(value)
