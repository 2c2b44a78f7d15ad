"""Members and tars that cannot be used cost their record or what follows, and no more."""

import tarfile

import pytest

from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.sources.tar import parts, roles
from beam_pipeline.sources.tar.read import ReadTar


@pytest.mark.parametrize(
    ("members", "reason", "detail"),
    [
        pytest.param(
            [("0.txt", b"1"), ("0.txt", b"2")],
            "two members of one name",
            ".txt occurs 2 times",
            id="twice",
        ),
        pytest.param(
            [("0.txt", b"1"), ("0.TXT", b"2")], "two members of one name", ".txt", id="letter case"
        ),
        pytest.param([("0.txt", b"\xff")], "not UTF-8", "'0.txt'", id="not UTF-8"),
        pytest.param([("0.json", b"{")], "malformed annotation", "not JSON", id="JSON"),
        pytest.param([("0.json", b"[" * 9999)], "malformed annotation", "not JSON", id="deep JSON"),
        pytest.param([("0.json", b'{"a": "\\ud800"}')], "not UTF-8", "'0.json'", id="surrogate"),
        pytest.param([("0.cls", b" ")], "missing value", "label", id="empty class"),
        pytest.param([("0.id", b"")], "missing value", "'id'", id="empty number"),
        pytest.param([("0.pyd", b"1")], "pickled member", "'0.pyd'", id="pickle"),
        pytest.param([("0.x.pkl", b"1")], "pickled member", "run a program", id="pkl"),
        pytest.param([("0.jpg", None)], "missing value", "--ignore-columns jpg", id="no image"),
        pytest.param([("0.cls", None)], "missing value", "no label", id="no class"),
        pytest.param([("0.json", None)], "missing value", "'n'", id="no number"),
        pytest.param([("0.json", b'{"n": null}')], "missing value", "'n'", id="null"),
    ],
)
def test_rejected_records(read, members, reason, detail):
    good = {"jpg": b"1", "cls": b"1", "id": b"1", "txt": b"1", "json": b'{"n": 1}'}
    changed = {name for name, _ in members}
    rest = [(f"0.{name}", data) for name, data in good.items() if f"0.{name}" not in changed]
    bad = rest + [(name, data) for name, data in members if data is not None]
    tar = [(f"good.{name}", data) for name, data in good.items()]
    records, rejects = read({"x.tar": tar + bad})
    assert list(records) == ["x.tar/good"]
    assert (rejects["x.tar/0"].reason, rejects["x.tar/0"].bad) == (reason, True)
    assert detail in rejects["x.tar/0"].detail


def test_a_text_that_is_too_large(read, monkeypatch):
    monkeypatch.setattr(parts, "_MAX_READ_BYTES", 10)
    records, rejects = read({"x.tar": {"0.txt": b"1" * 10, "1.txt": b"1" * 11}})
    assert list(records) == ["x.tar/0"]
    assert rejects["x.tar/1"].reason == "text too large"


def test_members_without_extension(read):
    records, rejects = read(
        {"x.tar": {"0.txt": b"1", "README": b"", "__meta__.json": b"", ".0.txt": b""}}
    )
    assert list(records) == ["x.tar/0"]
    assert {(each.source, each.reason, each.bad) for each in rejects.values()} == {
        ("x.tar/README", "no extension", False)
    }


def test_a_link_costs_its_record_and_a_way_out_itself(read, tmp_path, write_tar):
    path = write_tar(tmp_path / "in/x.tar", {"0.txt": b"0", "1.txt": b"1", "../2.txt": b"2"})
    with tarfile.open(path, "a") as archive:
        info = tarfile.TarInfo("1.cls")
        info.type, info.linkname = tarfile.SYMTYPE, "0.txt"
        archive.addfile(info)
    records, rejects = read({})
    assert list(records) == ["x.tar/0"]
    assert {each.source: each.reason for each in rejects.values()} == {
        "x.tar/1": "unsupported member",
        "x.tar/../2.txt": "unsafe path",
    }


def test_damaged_tars_give_what_is_before_the_damage(read, tmp_path, write_tar):
    whole = write_tar(tmp_path / "whole.tar", {f"{n}.txt": b"x" * 600 for n in range(4)})
    data = whole.read_bytes()
    records, rejects = read(
        {"cut.tar": data[:4000], "no.tar": b"no tar" * 200, "gz.tar.gz": b"\x1f\x8b123"}
        | {"empty.tar": b"", "good.tar": {"0.txt": b"1"}}
    )
    assert records.keys() == {"good.tar/0", "cut.tar/0", "cut.tar/1"}
    assert {each.source: (each.reason, each.bad) for each in rejects.values()} == {
        "cut.tar": ("truncated file", True),
        "no.tar": ("damaged archive", True),
        "gz.tar.gz": ("compressed archive", True),
        "empty.tar": ("empty archive", True),
    }


@pytest.mark.parametrize("name", ["x.tar.gz", "x.tgz", "x.TAR.zst", "x.txz"])
def test_compressed_tars_alone(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ConfigError, match=r"no byte range .* decompress it"):
        ReadTar(str(tmp_path)).expand(None)


def test_names_with_dots_are_told_of_before_they_fill_the_memory(read, monkeypatch):
    monkeypatch.setattr(roles, "_MAX_NAMES", 50)
    with pytest.raises(DataError, match=r"more than 50 extensions.*first dot"):
        read({"x.tar": {f"image.{n:04d}.jpg": b"1" for n in range(60)}})
