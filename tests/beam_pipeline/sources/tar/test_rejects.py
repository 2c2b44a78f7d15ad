"""Members and tars that cannot be used cost their record or what follows, and no more."""

import tarfile

import pytest

from beam_pipeline.errors import DataError
from beam_pipeline.sources.tar import parts
from beam_pipeline.sources.tar import records as tar_records


def test_json_without_bound(read):
    records, rejects = read({"x.tar": {"0.json": b"[" * 99_999, "1.json": {"n": 1}}})
    assert list(records) == ["x.tar/1"]
    assert rejects["x.tar/0"].reason == "malformed annotation"


def test_a_text_that_is_too_large(read, monkeypatch):
    monkeypatch.setattr(parts, "_MAX_READ_BYTES", 10)
    records, rejects = read({"x.tar": {"0.txt": b"1" * 10, "1.txt": b"1" * 11}})
    assert list(records) == ["x.tar/0"]
    assert rejects["x.tar/1"].reason == "text too large"


def test_a_link_costs_its_record_and_a_way_out_itself(read, tmp_path, write_tar):
    path = write_tar(tmp_path / "in/x.tar", {"0.txt": b"0", "1.txt": b"1", "../2.txt": b"2"})
    with tarfile.open(path, "a") as archive:
        info = tarfile.TarInfo("1.cls")
        info.type, info.linkname = tarfile.SYMTYPE, "0.txt"
        archive.addfile(info)
    records, rejects = read({})
    assert list(records) == ["x.tar/0"]
    assert {reject.source: reject.reason for reject in rejects.values()} == {
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
    assert {reject.source: (reject.reason, reject.bad) for reject in rejects.values()} == {
        "cut.tar": ("truncated file", True),
        "no.tar": ("damaged archive", True),
        "gz.tar.gz": ("compressed archive", True),
        "empty.tar": ("empty archive", True),
    }


def test_names_with_dots_are_reported_before_they_fill_the_memory(read, monkeypatch):
    monkeypatch.setattr(tar_records, "_MAX_NAMES", 50)
    with pytest.raises(DataError, match=r"more than 50 extensions.*first dot"):
        read({"x.tar": {f"image.{n:04d}.jpg": b"1" for n in range(60)}})
