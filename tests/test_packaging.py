"""The package for remote workers (`--setup_file ./setup.py`), and the released one."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from tfrecord_dataset import extras

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_source_distribution_holds_the_pipeline(tmp_path):
    folder = tmp_path / "dist"
    base = ["--egg-base", str(tmp_path)]
    command = [sys.executable, "setup.py", "-q", "egg_info", *base, "sdist", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"setup.py", "pyproject.toml", "LICENSE", "beam_pipeline/py.typed"} <= names
    modules = {
        str(path.relative_to(ROOT))
        for package in ("beam_pipeline", "tfrecord_dataset")
        for path in (ROOT / package).rglob("*.py")
    }
    assert modules <= names


@pytest.mark.nightly
def test_the_wheel_builds_a_dataset_in_an_empty_environment(tmp_path):
    """Only the wheel with extras is installed there."""
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path]
    _run(*build, _clone(tmp_path), folder=tmp_path)
    (wheel,) = tmp_path.glob("beam_tfrecords*.whl")

    _run(sys.executable, "-m", "venv", tmp_path / "empty", folder=tmp_path)
    bin = tmp_path / "empty/bin"
    constraint = ("--constraint", ROOT / "constraints.txt")
    _run(bin / "pip", "install", "-q", *constraint, f"{wheel}[hdf5]", folder=tmp_path)
    built = _run(
        *(bin / "beam-tfrecords", "build", ROOT / "examples/data/cells", "--output", "data"),
        folder=tmp_path,
    )
    assert built.splitlines()[-1] == str(tmp_path / "data/cells/1.0.0")
    _run(bin / "beam-tfrecords", "verify", "data/cells/1.0.0", folder=tmp_path)
    for module in ("h5py", "trainer", "beam_pipeline.report.page"):
        _run(bin / "python", "-c", f"import {module}", folder=tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_the_wheel_trains_on_other_versions_of_python(version, tmp_path):
    """Builds the smears and trains one step in an empty environment of that version."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(home.glob(f"{version}.*/bin/python{version}"))
    if not (python := found[-1] if found else shutil.which(f"python{version}")):
        pytest.skip(f"there is no Python {version}")
    wheel = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path]
    _run(*wheel, _clone(tmp_path), folder=tmp_path)
    (package,) = tmp_path.glob("beam_tfrecords*.whl")

    _run(python, "-m", "venv", tmp_path / "empty", folder=tmp_path)
    bin = tmp_path / "empty/bin"
    pip = [bin / "pip", "install", "-q", "--constraint", ROOT / "constraints.txt"]
    extras = f"{package}[hdf5,near-duplicates,detection]"
    _run(*pip, extras, "keras", "tensorboard", "tensorflow-cpu", folder=tmp_path)
    data = ROOT / "examples/data/blood"
    _run(bin / "beam-tfrecords", "build", data, "--output", "data", folder=tmp_path)
    steps = ["--epochs", "1", "--steps-per-epoch", "1", "--batch-size", "4", "--image-size", "64"]
    train = [bin / "beam-tfrecords-train", "train", "--data", "data/blood", "--output", "run"]
    _run(*train, *steps, folder=tmp_path)
    assert (tmp_path / "run/model.keras").exists()


_SCRIPT = """
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
beam_pipeline.build(input="photos", output="data", num_shard=3)
trainer.train(info.path, "run", epoch=3)
trainer.predcit("run", "x")
beam_pipeline.bild(config)
tfrecord_dataset.opne("x")
"""


@pytest.mark.nightly
def test_a_strict_type_checker_sees_an_editable_installation(tmp_path):
    """From any folder: type checkers do not follow setuptools' default way."""
    _run(sys.executable, "-m", "venv", tmp_path / "venv", folder=tmp_path)
    source = _clone(tmp_path)
    _run(tmp_path / "venv/bin/pip", "install", "-q", "--no-deps", "-e", source, folder=tmp_path)
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    python = ["--python-executable", str(tmp_path / "venv/bin/python"), script]
    done = subprocess.run([*command, *python], cwd=tmp_path, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if "script.py" in line]
    revealed = [line for line in lines if "Revealed type" in line]
    expected = (
        *("beam_pipeline.config.BuildConfig", "beam_pipeline.dataset.opening.Dataset", "dict["),
        *("shuffle: bool", "dict[str, float]", "Batches", "dict[str, float]", "tuple[str, ...]"),
    )
    assert [each for each in zip(expected, revealed, strict=True) if each[0] not in each[1]] == []
    wrong = (
        *(f'Unexpected keyword argument "{name}"' for name in ("inputt", "num_shard", "epoch")),
        *(f'has no attribute "{name}"' for name in ("predcit", "bild", "opne")),
    )
    errors = [line for line in lines if "error" in line]
    assert [each for each in zip(wrong, errors, strict=True) if each[0] not in each[1]] == []


def test_what_a_message_or_a_page_tells_to_install_is_there():
    """The package is on no index; a clone or the repository's address is, with existing extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    folders = ("beam_pipeline", "tfrecord_dataset", "trainer", "docs", "examples")
    pages = [path for folder in folders for path in (ROOT / folder).rglob("*.[pm][yd]")]
    pages_text = "".join(path.read_text() for path in [*pages, *ROOT.glob("*.md")])
    assert not re.findall(r"pip install[^\n]*beam-tfrecords\[[\w,]+\](?! @)", pages_text)
    named = {
        name for found in re.findall(r"'\.\[([\w,]+)\]'", pages_text) for name in found.split(",")
    }
    builds = [*(ROOT / "docker").rglob("*Dockerfile"), ROOT / "Makefile", *ROOT.glob(".ci/*")]
    named.update(re.findall(r"--extra ([\w-]+)", "".join(path.read_text() for path in builds)))
    assert {"hdf5", "detection", "near-duplicates", "gcp"} <= named
    assert named | {*get_args(extras.Extra)} <= project["optional-dependencies"].keys()


def test_the_version_is_stated_alike():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text()
    manifests = "".join(path.read_text() for path in (ROOT / "docker/k8s").glob("*.yaml"))
    assert {*re.findall(r"/beam-tfrecords-[\w-]+:(\S+)", manifests)} == {project["version"]}


def _clone(folder):
    """Copy the tracked files, except tests."""
    left_out = shutil.ignore_patterns(".*", "build", "dist", "demo", "site", "*.egg-info", "tests")
    return shutil.copytree(ROOT, folder / "clone", ignore=left_out)


def _run(*command, folder):
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout
