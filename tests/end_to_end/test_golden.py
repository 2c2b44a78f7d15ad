"""The golden dataset keeps both packages to one format."""

import json

import pyarrow.parquet
from testdata.make_golden import GOLDEN, build

import beam_pipeline


def test_a_build_gives_these_bytes(tmp_path, digests):
    built = build(tmp_path)
    found, expected = digests(built), digests(GOLDEN)

    assert found.keys() == expected.keys()
    assert metadata(built) == metadata(GOLDEN)
    for name in expected:
        if name.endswith(".parquet"):
            one, other = (
                pyarrow.parquet.read_table(folder / name, use_threads=False)
                for folder in (built, GOLDEN)
            )
            assert one.equals(other)
        elif name != "metadata.json":
            assert found[name] == expected[name], name


def metadata(directory):
    """Return metadata.json without the Parquet files, which state the version of pyarrow."""
    facts = json.loads((directory / "metadata.json").read_text())
    files = {path: facts["files"][path] for path in facts["files"] if "parquet" not in path}
    return {**facts, "files": files, "checksum": ""}


def test_it_verifies():
    assert beam_pipeline.verify(str(GOLDEN)) == []
