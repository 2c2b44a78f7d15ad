"""Tars of a few members, and what the source makes of them."""

import io
import json
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources.gather import Entry
from beam_pipeline.sources.input_files import find_files
from beam_pipeline.sources.tables.options import ValueOptions
from beam_pipeline.sources.tar.read import is_tar, read_tar
from beam_pipeline.sources.tar.records import record_of_parts
from beam_pipeline.sources.tar.roles import find_roles, kinds_of_members, merge_member_kinds

Members = Mapping[str, Any] | Iterable[tuple[str, Any]]
Found = tuple[dict[str, Record], dict[str, Rejected]]


def _write_tar(path: Path, members: Members) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, content in members.items() if isinstance(members, Mapping) else members:
            if not isinstance(content, bytes):
                content = json.dumps(content).encode()
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture(scope="session")
def write_tar() -> Callable[[Path, Members], Path]:
    """Writes a tar; members are content by name; what is no bytes is written as JSON."""
    return _write_tar


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, Any]], str]:
    """Writes tars, given as members or bytes by path below the input; returns the input."""

    def run(tars: Mapping[str, Any]) -> str:
        for name, members in tars.items():
            path = tmp_path / "in" / name
            if isinstance(members, bytes):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(members)
            else:
                _write_tar(path, members)
        return str(tmp_path / "in")

    return run


@pytest.fixture
def read(
    write: Callable[[Mapping[str, Any]], str],
    by_name: Callable[..., Found],
    gather: Callable[..., list[Any]],
) -> Callable[..., Found]:
    """What `ReadTar` yields of such tars, without Beam: (records by key, rejects by source)."""

    def run(tars: Mapping[str, Any], path: str = "", **said: Any) -> Found:
        options = ValueOptions(**said)
        files, _ = find_files(f"{write(tars)}/{path}", is_tar)
        found = [each for file in files for each in read_tar(file, options)]
        parts = (each.value[1] for each in found if isinstance(each, Entry))
        kinds = merge_member_kinds(kinds_of_members([part]) for part in parts)
        roles = find_roles(kinds, options)
        return by_name(gather(found, record_of_parts, roles, options))

    return run
