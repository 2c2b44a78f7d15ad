"""`doctor` reports the machine and its problems."""

import collections
import importlib.metadata
import shutil

import psutil
import pytest

from beam_pipeline.cli import commands, doctor


@pytest.fixture
def tensorflow(monkeypatch):
    """Set the output of nvidia-smi, and of a process that imports TensorFlow."""
    said = {"nvidia-smi": None, "python": "2.21.0|12.5|"}

    def output(command):
        return said["nvidia-smi" if command[0] == "nvidia-smi" else "python"]

    monkeypatch.setattr(doctor, "_output", output)
    return said


def found(*urls):
    return {each.name: each for each in doctor.examine(urls)}


def test_this_machine(tensorflow):
    findings = found()
    assert findings["apache-beam"].text[0].isdigit()
    assert "may be used" in findings["CPUs"].text
    assert findings["TensorFlow"] == ("TensorFlow", "2.21.0, visible GPUs: none", "")


@pytest.mark.slow
def test_tensorflow_is_asked():
    assert found()["TensorFlow"].text.startswith("2.")


@pytest.mark.parametrize(
    ("smi", "python", "remedy"),
    [
        (None, None, "pip install tensorflow"),
        ("H100, 80 GiB", None, "pip install 'tensorflow[and-cuda]'"),
        ("H100, 80 GiB", "2.21.0||", "this build has no CUDA"),
        ("H100, 80 GiB", "2.21.0|12.5|", "needs CUDA 12.5"),
        ("H100, 80 GiB", "2.21.0|12.5|H100", ""),
    ],
)
def test_gpus(tensorflow, smi, python, remedy):
    tensorflow |= {"nvidia-smi": smi, "python": python}
    stated = found()["TensorFlow"].remedy
    assert remedy in stated
    assert bool(remedy) == bool(stated)


def test_what_is_wrong(tensorflow, monkeypatch, tmp_path, capsys):
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1 << 40, 1 << 40, 1 << 20))
    memory = collections.namedtuple("memory", "total available")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory(1 << 33, 1 << 20))
    monkeypatch.setattr(doctor, "_numbers", lambda text: (text.count("."),))

    assert commands.main(["doctor", str(tmp_path), str(tmp_path / "nowhere")]) == 1

    out, err = capsys.readouterr()
    assert "1.0 MiB free\n" in out
    assert "→ free some space, or choose another folder with TMPDIR" in out
    assert "0 folders and 0 files can be listed" in out
    assert "→ check the path" in out
    assert "end other programs" in out
    assert "each with its remedy" in err


def test_a_bucket(bucket, tensorflow):
    url, store = bucket
    store.put(f"{url}/a/b.jpg", b"..")
    assert found(url)[url].text == "1 folders and 0 files can be listed"
    store.fail(f"{url}/a/b.jpg", 403)
    other = f"{url}/a/b.jpg"
    assert "Permission denied" in found(other)[other].remedy


@pytest.mark.parametrize(
    ("requirement", "remedy"),
    [
        ("apache-beam<9.0,>=2.70", ""),
        ("apache-beam<9.0,>=8.1", "pip install --upgrade 'apache-beam>=8.1'"),
        ("apache-beam<2.9,>=2.0", "pip install 'apache-beam<2.9'"),
    ],
)
def test_a_package_of_another_version(tensorflow, monkeypatch, requirement, remedy):
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: [requirement])
    assert found()["apache-beam"].remedy == remedy
