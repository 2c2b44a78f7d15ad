"""Small tars, and the records and rejects that the source makes of them."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from eager_runner import yielded
from file_bytes import tar_bytes

from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources.tar.read_tar import ReadTar

Members = Mapping[str, Any] | Iterable[tuple[str, Any]]
Found = tuple[dict[str, Record], dict[str, Rejected]]


def _write_tar(path: Path, members: Members) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pairs = members.items() if isinstance(members, Mapping) else members
    encoded = (
        (name, data if isinstance(data, bytes) else json.dumps(data).encode())
        for name, data in pairs
    )
    path.write_bytes(tar_bytes([*encoded]))
    return path


@pytest.fixture(scope="session")
def write_tar() -> Callable[[Path, Members], Path]:
    """Write a tar of members by name; content other than bytes is written as JSON."""
    return _write_tar


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, Any]], str]:
    """Write tars, as members or bytes by path below the input; return the input."""

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
    write: Callable[[Mapping[str, Any]], str], by_name: Callable[..., Found]
) -> Callable[..., Found]:
    """Run `ReadTar` on tars; return (records by key, rejects by source)."""

    def run(tars: Mapping[str, Any], path: str = "", **options: Any) -> Found:
        return by_name(yielded(ReadTar(f"{write(tars)}/{path}", **options)))

    return run
