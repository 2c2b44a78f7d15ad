"""Which files of a folder are manifests, and what stops before a job."""

import json

import pytest

from beam_pipeline.errors import DataError
from beam_pipeline.sources.columns.kinds import merge_kinds
from beam_pipeline.sources.manifest.read import ReadCsv
from beam_pipeline.sources.manifest.read_json import ReadJsonl


def test_too_many_columns_stop_before_the_job(tmp_path, read_manifest, write):
    names = [f"c{number}" for number in range(20_001)]
    for source in (
        ReadCsv(write(tmp_path / "wide.csv", ",".join(names) + "\n")),
        ReadJsonl(write(tmp_path / "wide.jsonl", json.dumps(dict.fromkeys(names, 1)))),
    ):
        with pytest.raises(DataError, match=r"20,001 .*more than the 20,000 keys or columns"):
            read_manifest(source)
    halves = [dict.fromkeys(names[start::2], int) for start in (0, 1)]
    with pytest.raises(DataError, match="the rows have 20,001 features"):
        merge_kinds(halves)


def split_by_key(elements):
    return {record.key: record.split for record in elements}


def test_later_files_outside_of_split_folders_are_left_to_the_build(tmp_path, read_manifest, write):
    rows = "".join(f'{{"image": "train/{number}.png"}}\n' for number in range(100))
    path = write(tmp_path / "m.jsonl", rows + '{"image": "more/x.png"}\n{"image": "test/y.png"}\n')
    splits = split_by_key(read_manifest(ReadJsonl(path)))
    assert set(splits.values()) == {"train", None, "test"}
    assert (splits["more/x.png"], splits["test/y.png"]) == (None, "test")


@pytest.mark.parametrize(
    ("later", "divided", "expected"),
    [
        pytest.param("train/y.png", False, {"train"}, id="one folder"),
        pytest.param("train/y.png", True, {None}, id="one folder, to be divided"),
        pytest.param("test/y.png", True, {"train", "test"}, id="another folder behind"),
        pytest.param("more/y.png", True, {None}, id="a folder of no split behind"),
    ],
)
def test_one_split_folder_may_be_divided(tmp_path, read_manifest, later, divided, expected, write):
    names = [*(f"train/{number}.png" for number in range(100)), later]
    path = write(tmp_path / "m.csv", "\n".join(["file_name", *names]))
    splits = split_by_key(read_manifest(ReadCsv(path, divided=divided)))
    assert set(splits.values()) == expected


def test_columns_that_the_user_leaves_out_are_not_told(tmp_path, read_manifest, caplog, write):
    path = write(tmp_path / "m.csv", "10,1,2\n")
    (record,) = read_manifest(ReadCsv(path, column_names=["a", "", "b"]))
    assert record.features == {"a": 10, "b": 2}
    assert not caplog.text
