"""Files of arrays, and the records and rejects that the source makes of them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eager_runner import yielded

from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources.arrays.read_arrays import ReadArrays

Found = tuple[dict[str, Record], dict[str, Rejected]]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, Any]], str]:
    """Write arrays by file name, several arrays as an .npz; return the folder."""

    def run(files: Mapping[str, Any]) -> str:
        root = tmp_path / "in"
        root.mkdir(exist_ok=True)
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            elif isinstance(content, dict):
                np.savez(path, **content)
            else:
                np.save(path, content, allow_pickle=content.dtype.hasobject)
        return str(root)

    return run


@pytest.fixture
def read(
    write: Callable[[Mapping[str, Any]], str], by_name: Callable[..., Found], tmp_path: Path
) -> Callable[..., Found]:
    """Run `ReadArrays`; return (records by key, rejects by source)."""

    def run(files: Mapping[str, Any], path: str = "", **options: Any) -> Found:
        source = ReadArrays(f"{write(files)}/{path}", str(tmp_path / "scratch"), **options)
        return by_name(yielded(source))

    return run
