"""What `plan`, `verify` and `show` print, as text and as JSON."""

import base64
import json
import shutil

import numpy as np
import pytest
from testdata.make_golden import GOLDEN

from beam_pipeline.cli import commands, results
from beam_pipeline.dataset.opening import open as open_dataset
from beam_pipeline.dataset.shards import read_examples
from beam_pipeline.describe.record_text import as_text
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.layout import Claim, Rank

TABLE = """image,label,split
a.jpg,cat,train
b.jpg,dog,train
c.jpg,dog,test
lost.jpg,dog,test
"""


@pytest.fixture
def dataset(tmp_path):
    return shutil.copytree(GOLDEN, tmp_path / "golden")


def test_plan(tmp_path, write_image, capsys):
    for seed, name in enumerate("abc"):
        write_image(tmp_path / f"{name}.jpg", seed=seed)
    (tmp_path / "pets.csv").write_text(TABLE)

    command = ["plan", str(tmp_path / "pets.csv"), "--json"]
    assert commands.main(command) == 3
    assert "1 of 4 records invalid" in json.loads(capsys.readouterr().out)["problem"]
    assert commands.main([*command, "--max-bad-fraction", "0.5"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert {split: each["num_records"] for split, each in plan["splits"].items()} == {
        "train": 2,
        "test": 1,
    }
    assert [feature["name"] for feature in plan["features"]] == ["image", "label"]
    assert plan["classes"] == ["cat", "dog"]
    assert plan["rejected"] == {"missing file": 1}
    (reject,) = plan["first_rejects"]
    assert reject["source"] == "pets.csv:5"
    assert plan["problem"] is None


def test_every_line_of_what_was_understood():
    lines = (("files", "train.csv, test.csv"), ("paths", "of train.csv"), ("paths", "of test.csv"))
    claim = Claim(layout="csv", rank=Rank.TABLE, path="/pets", understood=lines)
    assert results.understood(claim) == {
        "layout": "csv",
        "files": "train.csv, test.csv",
        "paths": "of train.csv; of test.csv",
    }


def test_verify(dataset, capsys):
    assert commands.main(["verify", str(dataset), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    info = open_dataset(str(dataset))
    assert found["problems"] == []
    assert found["num_records"] == {split: info.num_records(split) for split in info.splits}

    (dataset / "README.md").write_text("changed")
    assert commands.main(["verify", str(dataset), "--json"]) == 3
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert "README.md" in problem


def test_show(dataset, capsys):
    assert commands.main(["show", str(dataset), "--json", "--limit", "2"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    info = open_dataset(str(dataset))
    expected = [
        (split, example)
        for split in info.splits
        for example in list(read_examples(info, split))[:2]
    ]
    assert [(each["split"], values(each["values"])) for each in lines] == expected


def values(stated):
    """Return values by key, as from `read_examples`."""
    return {key: [value(each) for each in some] for key, some in stated.items()}


def value(stated):
    if isinstance(stated, dict):
        return base64.b64decode(stated["base64"])
    return stated.encode() if isinstance(stated, str) else stated


@pytest.mark.parametrize(
    ("values", "text"),
    [
        pytest.param([b"cat"], "cat", id="text"),
        pytest.param([b"\xff\xd8"], "<2 bytes>", id="binary"),
        pytest.param([b"x" * 81], "<81 bytes>", id="long text"),
        pytest.param(["a\u00a0b\u200d\n".encode()], r"'a\xa0b\u200d\n'", id="text with odd spaces"),
        pytest.param([b"\x1b[2J"], "<4 bytes>", id="control characters"),
        pytest.param([b""], "", id="empty text"),
        pytest.param([3], "3", id="one number"),
        pytest.param([0.123456], "0.123456", id="a fraction"),
        pytest.param([], "[]", id="empty list"),
        pytest.param([1, 2], "[1, 2]", id="numbers"),
        pytest.param(list(range(10)), "[0, 1, 2, 3, 4, 5, 6, 7 … 10 values]", id="many numbers"),
    ],
)
def test_as_text(values, text):
    assert as_text({"key": values}) == f"key  {text}"


@pytest.mark.parametrize(
    ("declared", "values", "text"),
    [
        ({"kind": "tensor", "dtype": "int64", "shape": [1, 2]}, [1, 2], "[1, 2] (int64 1×2)"),
        ({"kind": "tensor", "dtype": "int64", "shape": []}, [1], "1 (int64 scalar)"),
        (
            {"kind": "tensor", "dtype": "uint8", "shape": [2, 2], "encoding": "bytes"},
            [b"\xff" * 4],
            "<4 bytes> (uint8 2×2)",
        ),
        (
            {"kind": "sequence", "dtype": "float32", "shape": [None, 2]},
            [0.5] * 4,
            "[0.5, 0.5, 0.5, 0.5] (float32 2×2)",
        ),
        ({"kind": "sequence", "dtype": "int64"}, [1, 2], "[1, 2]"),
        ({"kind": "text"}, [b"a"], "a"),
        ({"kind": "audio", "bare": True, "key": "x"}, [b"\xff"], "<1 bytes>"),
    ],
)
def test_the_schema_adds_types_and_shapes(declared, values, text):
    assert as_text({"x": values}, parse_schema([{"name": "x", **declared}])) == f"x  {text}"


@pytest.mark.parametrize(("channels", "note"), [(1, "1 channel"), (2, "2 channels")])
def test_the_length_of_audio(channels, note):
    example = {
        "x/channels": [channels],
        "x/encoded": [b"\xff"],
        "x/num_samples": [4000],
        "x/sample_rate": [16_000],
    }
    text = as_text(example, parse_schema({"x": "audio"}))
    assert f"x/encoded      <1 bytes> (0.25 s, 16,000 Hz, {note})" in text


def test_numbers_are_shown_as_stored():
    stored = [np.float32(each).item() for each in (174345, 0.1, 1e-9)]
    assert as_text({"x": stored}) == "x  [174345.0, 0.1, 1e-09]"


def test_keys_are_aligned():
    assert as_text({"a": [1], "long": [2]}) == "a     1\nlong  2"
    assert as_text({}) == ""


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], {"test": 3, "train": 3}),
        (["--split", "test"], {"test": 3}),
        (["--limit", "99"], {"test": 3, "train": 7}),
        (["--limit", "0"], {}),
    ],
)
def test_which_records_are_shown(capsys, options, shown):
    assert commands.main(["show", str(GOLDEN), *options]) == 0
    heads = [line[4:] for line in capsys.readouterr().out.splitlines() if line.startswith("--- ")]
    assert {split: heads.count(split) for split in dict.fromkeys(heads)} == shown
