"""What a wrong command says, in one line, before it writes anything."""

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

# (command, exit code, what its message says: a regular expression). INPUT is the folder of these
# files, DATASET one that is finished.
TABLE = [
    # No such command, option or value
    ("", 2, "required: COMMAND"),
    ("fly", 2, "there is no command 'fly'; there are: build, plan, "),
    ("biuld x", 2, r"there is no command 'biuld' \(did you mean 'build'\?\)"),
    ("build --outptu y", 2, r"required: input, --output"),
    ("build x --outptu y", 2, r"--outptu \(did you mean '--output'\?\); .* required: --output"),
    ("build INPUT/pets", 2, "required: --output"),
    (
        "plan INPUT/pets --num-shard 2",
        2,
        r"there is no option --num-shard \(did you mean '--num-shards'\?\)",
    ),
    ("plan INPUT/pets --dupliactes=drop", 2, r"--dupliactes \(did you mean '--duplicates'\?\)"),
    ("plan INPUT/pets --max-bad 1", 2, r"--max-bad \(did you mean '--max-bad-fraction'\?\)"),
    ("plan INPUT/pets --direct_num_worker 1", 2, r"did you mean '--direct_num_workers'\?"),
    ("plan INPUT/pets --over", 2, "there is no option --over"),
    (
        "plan INPUT/pets --zzqq",
        2,
        r"there is no option --zzqq \(see `python -m beam_pipeline plan --help`\)",
    ),
    ("plan INPUT/pets b.tar c.tar", 2, r"unknown argument b\.tar; .* pattern .* in quotes"),
    ("verify DATASET --seed 1", 2, "there is no option --seed"),
    ("show DATASET --limits 1", 2, r"did you mean '--limit'\?"),
    ("plan INPUT/pets --seed x", 2, "--seed 'x' is not a whole number"),
    ("plan INPUT/pets --name 1st", 2, "--name '1st' .*start with a letter"),
    ("plan INPUT/pets --name BCCD", 2, "--name 'BCCD' .*all lower case"),
    ("plan INPUT/pets --name a-b", 2, "--name 'a-b' .*underscores"),
    ("plan INPUT/pets --name zähler", 2, "--name 'zähler'"),
    ("plan INPUT/pets --version 1.0", 2, "--version '1.0' .*three numbers"),
    ("plan INPUT/pets --version 1.0.0rc1", 2, "--version '1.0.0rc1'"),
    ("plan INPUT/pets --compression zstd", 2, "--compression 'zstd'.*none, gzip"),
    ("plan INPUT/pets --duplicates no", 2, "--duplicates 'no'.*keep, drop, error"),
    ("plan INPUT/pets --missing-numbers 0", 2, "--missing-numbers '0'.*reject, nan"),
    ("plan INPUT/pets --box-policy cut", 2, "--box-policy 'cut'.*clip"),
    ("plan INPUT/pets --box-format xyz", 2, "--box-format 'xyz'.*xyxy"),
    ("plan INPUT/pets --max-bad-fraction=-0.1", 2, "--max-bad-fraction -0.1"),
    ("plan INPUT/pets --max-bad-fraction 5", 2, "--max-bad-fraction 5 .*0 to 1"),
    ("plan INPUT/pets --max-bad-fraction nan", 2, "--max-bad-fraction nan"),
    ("plan INPUT/pets --target-shard-bytes 0", 2, "--target-shard-bytes 0"),
    ("plan INPUT/pets --classes a,b,a", 2, "--classes 'a,b,a' names 'a' twice"),
    ("plan INPUT/pets --classes nosuch/names", 2, "is no file"),
    ("plan INPUT/pets --classes names.txt", 2, "is no file"),
    ("plan INPUT/pets --threads=-1", 2, "--threads -1"),
    ("plan INPUT/pets --num-shards 0", 2, "--num-shards 0 .*give 1 to 99,999"),
    ("plan INPUT/pets --num-shards a=100000", 2, "--num-shards 'a=100000'"),
    ("plan INPUT/pets --num-shards train=1.5", 2, "write it as 8 or train=8,test=1"),
    ("plan INPUT/pets --num-shards few", 2, "write it as 8 or train=8,test=1"),
    ("plan INPUT/pets --split a-b=1", 2, "--split 'a-b=1' .*name splits"),
    ("plan INPUT/pets --split a=0.5", 2, "--split 'a=0.5' .*sum 1"),
    ("plan INPUT/pets --split a=1.5,b=-0.5", 2, "--split .*positive"),
    ("plan INPUT/pets --split a=nan", 2, "--split 'a=nan'"),
    ("plan INPUT/pets --split train", 2, "write it as train=0.8"),
    ("plan INPUT/pets --split train=most", 2, "write it as"),
    ("plan INPUT/pets --split train=0.8.1", 2, "write it as"),
    ("plan INPUT/pets --split train=0.8,", 2, "write it as"),
    ("plan INPUT/pets --split a=0.5,a=0.5", 2, "names a split twice"),
    ("show DATASET --limit=-1", 2, "--limit -1"),
    # No such place
    ("build nowhere --output out", 2, "the input '.*nowhere' does not exist"),
    ("plan INPUT/*.tar", 2, r"'.*\*\.tar' does not exist"),
    ("build INPUT/pets --output 'data[1]'", 2, r"--output .*data\[1\]"),
    ("build INPUT/pets --output 'data*'", 2, r"--output .*data\*"),
    ("build INPUT --output INPUT/out", 2, "--output"),
    ("build INPUT/pets --output INPUT/table.csv", 2, "--output .*table.csv is a file; give a fold"),
    ("plan INPUT/pets --split-list val=INPUT/pets", 2, "--split-list 'val=.*' is no file"),
    ("plan INPUT --output INPUT/out", 2, "--output"),
    ("plan INPUT/pets --tokenizer missing.json", 2, r"missing\.json: missing file"),
    ("verify nowhere", 2, "nowhere is not a finished dataset"),
    ("verify INPUT", 2, "is not a finished dataset"),
    ("show DATASET --split val", 2, "there is no split 'val'; there are: test, train"),
    (
        "plan INPUT/pets --seed x --schema no.json --split-list no.txt --split-list INPUT/pets/a-b "
        "--tokenizer no.model",
        2,
        "--seed 'x' .*; and --schema no.json .* missing file: no.json; and --split-list 'no.txt' "
        "is no file .*; and --split-list .* has a name that is no split's; .*; and --tokenizer "
        r".*no\.model: missing file",
    ),
    # Options that do not suit the input
    ("plan INPUT/table.csv --schema INPUT/agee.yaml", 2, "feature 'agee'.* did you mean 'age'"),
    (
        "plan INPUT/masks.csv --schema INPUT/one-key.yaml",
        2,
        "'mask' and 'mask/height' are both stored as 'mask/height'",
    ),
    ("plan INPUT/data.tfrecord --image-size 8", 2, "build from the raw files"),
    (
        "plan INPUT/pets --layout folders --image-column a",
        2,
        "--image-column a is for csv and jsonl",
    ),
    (
        "plan INPUT/table.csv --layout csv --path-pattern {label}",
        2,
        "{label} is for folders; leave it out, for the input is read as csv",
    ),
    ("plan INPUT/pets --box-format xywh", 2, "--box-format xywh is for coco and voc and csv and"),
    ("plan INPUT/pets --label-column a --path-pattern {label}", 2, "--label-column a is for csv"),
    ("plan INPUT/pets --missing-values 'NA,?'", 2, r"--missing-values NA,\? is for .* as folders"),
    (
        "build INPUT/pets --output out --direct_running_mode=multi_processing",
        2,
        "--direct_running_mode=multi_processing asks",
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
    found, *told = [line for line in shown.err.splitlines() if not line.startswith("found ")]
    assert re.match(f"error: .*(?:{message})", found)
    assert (shown.out, told) == ("", [])
    assert not list(tmp_path.iterdir())
    assert sorted(files.rglob("*")) == before
