"""Wrong commands fail with one line, before they write anything."""

import re
import shlex

import pytest
from cases.inputs import make
from testdata.make_golden import GOLDEN

from beam_pipeline.cli import commands

INPUT = """
== pets/{cat,dog}/1.jpg
== table.csv
age,label
1,a
== masks.csv
mask,mask/height
pets/cat/1.jpg,1
== data.tfrecord examples
{"n": [1]}
== agee.yaml
agee: {kind: scalar, dtype: int64}
== one-key.yaml
mask: image
mask/height: {kind: scalar, dtype: int64}
"""

# (command, exit code, regular expression for its message). INPUT is the folder of these files,
# DATASET a finished dataset.
TABLE = [
    # No such command, option or value
    ("", 2, "required: COMMAND"),
    ("biuld x", 2, r"unknown command 'biuld' \(did you mean 'build'\?\); choose from: build, pl"),
    ("build --outptu y", 2, "unknown option --outptu"),
    ("build INPUT/pets", 2, "an output directory is needed: pass --output"),
    (
        "plan INPUT/pets --num-shard 2",
        2,
        r"unknown option --num-shard \(did you mean '--num-shards'",
    ),
    ("plan INPUT/pets --dupliactes=drop", 2, r"--dupliactes \(did you mean '--duplicates'\?\)"),
    ("plan INPUT/pets --direct_num_worker 1", 2, r"did you mean '--direct_num_workers'\?"),
    ("plan INPUT/pets --over", 2, "unknown option --over"),
    (
        "plan INPUT/pets --box-format xywh",
        2,
        "--box-format is not a command-line option; write box_format in a rec",
    ),
    ("plan INPUT/pets b.tar c.tar", 2, r"unknown argument b\.tar; .* pattern .* in quotes"),
    ("verify DATASET --seed 1", 2, "unknown option --seed"),
    ("show DATASET --runner X", 2, "unknown option --runner of show"),
    ("plan INPUT/pets --seed x", 2, r"seed \(--seed\): 'x' is not a whole number"),
    ("plan INPUT/pets --name BCCD", 2, "'BCCD' .*all lower case"),
    ("plan INPUT/pets --version 1.0.0rc1", 2, "'1.0.0rc1' .*three numbers"),
    ("plan INPUT/pets --compression zstd", 2, r"compression \(--compression\) 'zstd'.*none, gzip"),
    ("plan INPUT/pets --max-bad-fraction nan", 2, "nan is out of bounds; .* from 0 to 1"),
    ("plan INPUT/pets --classes a,b,a", 2, "'a,b,a' names 'a' twice"),
    ("plan INPUT/pets --classes names.txt", 2, "is not a file"),
    ("plan INPUT/pets --num-shards a=100000", 2, "'a=100000' .*give 1 to 99,999"),
    ("plan INPUT/pets --num-shards few", 2, "write it as 8 or train=8,test=1"),
    ("plan INPUT/pets --split a-b=1", 2, "'a-b=1' .*name splits"),
    ("plan INPUT/pets --split a=1.5,b=-0.5", 2, "positive fractions by split whose sum is 1"),
    ("plan INPUT/pets --split train=0.8,", 2, "write it as"),
    ("plan INPUT/pets --split a=0.5,a=0.5", 2, "names a split twice"),
    # Missing paths
    ("build nowhere --output out", 2, "the input '.*nowhere' does not exist"),
    ("plan INPUT/*.tar", 2, r"'.*\*\.tar' does not exist"),
    ("build INPUT/pets --output 'data*'", 2, r"output \(--output\): .*data\*"),
    ("build INPUT --output INPUT/out", 2, "--output"),
    (
        "build INPUT/pets --output INPUT/table.csv",
        2,
        "--output: .*table.csv is a file; give a fold",
    ),
    ("plan nowhere.yaml", 2, "the recipe .*nowhere.yaml cannot be read: missing file"),
    ("verify nowhere", 2, "nowhere is not a finished dataset"),
    ("show DATASET --split val", 2, "unknown split 'val'; choose from: test, train"),
    (
        "plan INPUT/pets --seed x --schema no.json --split-list no.txt --split-list INPUT/pets/a-b",
        2,
        r"--split-list 'no.txt' does not exist .*; and .* does not name a split"
        r".*; and seed \(--seed\): 'x' .*; and --schema no.json .* missing file: no.json",
    ),
    # Options that do not fit the input
    ("plan INPUT/table.csv --schema INPUT/agee.yaml", 2, "feature 'agee'.* did you mean 'age'"),
    ("plan INPUT/masks.csv --schema INPUT/one-key.yaml", 2, "are both stored as 'mask/height'"),
    ("plan INPUT/data.tfrecord --image-size 8", 2, "build from the raw files"),
    (
        "plan INPUT/pets --layout folders --image-column a",
        2,
        r"image_column \(--image-column\) is for csv, ",
    ),
    (
        "plan INPUT/data.tfrecord --one-class",
        2,
        r"one_class \(--one-class\) is for folders, and the",
    ),
    (
        "build INPUT/pets --output out --direct_running_mode=multi_processing",
        2,
        "--direct_running_mode=multi_processing starts",
    ),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("messages")
    (folder / "described").write_text(INPUT)
    make(folder / "described", folder / "input")
    return folder / "input"


@pytest.mark.parametrize(("command", "code", "message"), TABLE)
def test_a_message(files, tmp_path, monkeypatch, capsys, command, code, message):
    monkeypatch.chdir(tmp_path)
    before = sorted(files.rglob("*"))
    command = command.replace("INPUT", str(files)).replace("DATASET", str(GOLDEN))

    assert commands.main(shlex.split(command)) == code

    shown = capsys.readouterr()
    *understood, last = shown.err.splitlines()
    assert re.match(f"error: .*(?:{message})", last)
    assert (shown.out, len(understood) <= 6) == ("", True)
    assert not list(tmp_path.iterdir())
    assert sorted(files.rglob("*")) == before
