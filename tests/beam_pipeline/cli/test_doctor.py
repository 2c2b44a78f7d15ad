"""`doctor` reports the machine and its problems."""

import collections
import importlib.metadata
import shutil

import psutil
import pytest

from beam_pipeline.cli import commands, doctor


def found(*urls):
    return {each.name: each for each in doctor.examine(urls)}


def test_this_machine():
    findings = found()
    beam = importlib.metadata.version("apache-beam")
    assert f"apache-beam {beam}, " in findings["packages"].text
    assert " CPUs, memory: " in findings["machine"].text


def test_what_is_wrong(monkeypatch, tmp_path, capsys):
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1 << 40, 1 << 40, 1 << 20))
    memory = collections.namedtuple("memory", "total available")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory(1 << 33, 1 << 20))

    assert commands.main(["doctor", str(tmp_path), str(tmp_path / "nowhere")]) == 1

    out, err = capsys.readouterr()
    assert "1.0 MiB free\n" in out
    assert "→ make room there and make it writable, or run it with TMPDIR=FOLDER" in out
    assert "0 folders, 0 files" in out
    assert "→ check the path" in out
    assert "end other programs" in out
    assert "each with its remedy" in err


def test_a_bucket(bucket):
    url, store = bucket
    store.put(f"{url}/a/b.jpg", b"..")
    assert found(url)[url].text == "1 folders, 0 files"
    store.fail(f"{url}/a/b.jpg", 403)
    other = f"{url}/a/b.jpg"
    assert "Permission denied" in found(other)[other].remedy


@pytest.mark.parametrize(
    ("requirement", "remedy"),
    [
        ("apache-beam<9.0,>=8.1", "pip install 'apache-beam<9.0,>=8.1'"),
        ("apache-beam<2.9,>=2.0", "pip install 'apache-beam<2.9,>=2.0'"),
        ("no-such-package>=1", "pip install 'no-such-package>=1'"),
    ],
)
def test_a_package_of_another_version(monkeypatch, requirement, remedy):
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: [requirement])
    assert remedy in [each.remedy for each in doctor.examine()]


def test_a_package_of_an_extra_may_be_missing(monkeypatch):
    stated = ['no-such-package>=1; extra == "more"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: stated)
    assert "no-such-package" not in found()
