"""`--json`: plan, verify and show print only JSON to stdout."""

import base64
import json
import shutil

import pytest
from testdata.make_golden import GOLDEN

from beam_pipeline.cli import as_json, commands
from beam_pipeline.dataset.opening import open as open_dataset
from beam_pipeline.dataset.shards import read_examples
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
    assert "--max-bad-fraction" in json.loads(capsys.readouterr().out)["problem"]
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
    assert as_json.understood(claim) == {
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
