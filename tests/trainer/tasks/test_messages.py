"""Invalid commands print one line of error before they write anything."""

import re
import shlex

import pytest
from cases.inputs import make

SEQUENCES = [{"sequence": [1] * size, "label": size % 2} for size in (5, 5, 5, 5)]
LACKING = [{"sequence": [1], "label": 1, "weight": 0.5}, {"sequence": [1], "label": 0}]
# Bare files and their schemas by name.
RECORDS = {
    "a": SEQUENCES,
    "lacking": LACKING * 8,
    "two-kinds": [{"x": 1, "label": 0}, {"x": 0.5, "label": 0}],
    "empty": [{}],
    "negative": [{"x": 0.5, "label": -1}, {"x": 1.5, "label": 1}] * 8,
    "late": [{"x": [1], "label": 0}] * 300 + [{"x": [1, 2], "label": 0}],
}
SCHEMAS = """
== yaml.json
label: class_label
== nothing.json
[]
== number.json
5
== undeclared.json
{"label": 5}
== kind.json
{"label": {"kind": "clas_label"}}
== key.json
{"lable": {"kind": "class_label"}}
== type.json
{"sequence": {"kind": "sequence", "dtype": "float32"}}
== file
"""

TRAIN = "train --output run --data"
# (command, exit code, regular expression for its message). COLORS, TEXT, … are datasets; FILES is
# the folder of bare files and schemas.
TABLE = [
    # Unknown command, option or value
    ("", 2, "COMMAND"),
    ("trian", 2, "unknown command 'trian'"),
    ("train --output o", 2, "--data"),
    ("train --output o extra", 2, "unknown argument extra"),
    ("train --data d --output o --epoch 3", 2, "'--epochs'"),
    ("train --dta d --output o", 2, r"unknown option --dta \(did you mean '--data'"),
    ("evaluate --data d --run r --spilt=x", 2, "'--split'"),
    (f"{TRAIN} COLORS --task clasification", 2, "did you mean 'classification'"),
    (f"{TRAIN} COLORS --image-size big", 2, "WIDTHxHEIGHT"),
    (f"{TRAIN} COLORS --devices gpus", 2, "gpu:0,1"),
    (f"{TRAIN} TEXT --pad caption", 2, "cannot be read"),
    (f"{TRAIN} TEXT --pad caption=0", 2, "a number from 1"),
    (f"{TRAIN} TEXT --inputs caption,", 2, "empty name"),
    # Missing paths
    (f"{TRAIN} nowhere", 2, "no file or directory nowhere"),
    ("train --data COLORS --output FILES/file/run", 2, "cannot be written: Not a directory"),
    ("evaluate --data d --run nowhere", 2, "nowhere does not hold a run"),
    # Options unsuitable for the data
    (f"{TRAIN} COLORS --devices cpu:2 --batch-size 7", 2, "such as 6 or 8"),
    (f"{TRAIN} COLORS --train-split trian", 2, "did you mean 'train'"),
    (f"{TRAIN} TEXT --image-size 8", 2, "--image-size needs an image"),
    (f"{TRAIN} BOXES --image-size 100 --devices cpu", 2, "is not a multiple of 32.* 96x96"),
    (f"{TRAIN} TABLE --pad a=3", 2, "unknown input .*'a'; there is none, so leave it out"),
    (f"{TRAIN} TABLE --target code", 2, "must be less than"),
    (f"{TRAIN} FILES/negative.tfrecord", 2, "'label' is -1, .* with --task regression"),
    (f"{TRAIN} SEGMENTATION --label-smoothing 0.2", 2, "--label-smoothing needs classes"),
    (f"{TRAIN} SEGMENTATION --class-weights green=2", 2, "for --class-weights, 'green'"),
    (f"{TRAIN} TABLE --validation-split test --validation-share 0.1", 2, "give one"),
    (f"{TRAIN} BOXES --folds 2", 2, "--folds needs classes or numbers, but the target 'boxes'"),
    (f"{TRAIN} TABLE --folds 2 --validation-share 0.1", 2, "leave out --validation-split and -"),
    (f"{TRAIN} TABLE --folds 2 --fold 3", 2, "--fold 3 is not one of --folds 2"),
    (f"{TRAIN} TABLE --fold 1", 2, "--fold 1 is not one of --folds 0"),
    ("show-batch --data x --output batch.jpg", 2, "does not end in .png"),
    ("show-batch --data TABLE", 2, "show-batch needs an image.* or another dataset with --data"),
    ("tune x --seconds 0", 2, r"--seconds\): 0 is out of bounds"),
    ("tune x --batch-size 0", 2, r"--batch-size\): 0 is out"),
    # Schemas of bare files
    (f"{TRAIN} FILES/a.tfrecord --schema FILES/no.json", 2, "cannot be read as JSON"),
    (f"{TRAIN} FILES/a.tfrecord --schema FILES/yaml.json", 2, "read as JSON: Expecting"),
    (f"{TRAIN} FILES/a.tfrecord --schema FILES/deep.json", 2, "as JSON: maximum recursion"),
    (f"{TRAIN} FILES/a.tfrecord --schema FILES/nothing.json", 2, "declares no features"),
    (f"{TRAIN} FILES/a.tfrecord --schema FILES/number.json", 2, "declares no features"),
    (f"{TRAIN} FILES/a.tfrecord --schema FILES/undeclared.json", 2, "5 is not a declaration"),
    (f"{TRAIN} FILES/a.tfrecord --schema FILES/kind.json", 2, "did you mean 'class_label'"),
    (f"{TRAIN} FILES/a.tfrecord --schema FILES/key.json", 2, "did you mean 'label'"),
    (f"{TRAIN} FILES/a.tfrecord --schema FILES/type.json", 2, "holds int64"),
    (f"{TRAIN} SEQUENCE --schema schema.json", 2, "--schema is for bare .* a directory; remove it"),
    (f"{TRAIN} FILES/lacking.tfrecord --sample-weight weight", 2, "unknown number per record"),
    (f"{TRAIN} FILES/two-kinds.tfrecord", 2, "--schema"),
    (f"{TRAIN} FILES/empty.tfrecord", 2, "--schema"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory, write_records):
    folder = tmp_path_factory.mktemp("messages")
    for name, records in RECORDS.items():
        write_records(folder / f"{name}.tfrecord", records)
    (folder / "described").write_text(SCHEMAS)
    make(folder / "described", folder)
    (folder / "deep.json").write_text("[" * 100_000)
    return folder


@pytest.fixture
def run(files, colors, directory_of, tmp_path, monkeypatch, start):
    """A function from a command to (exit code, stdout, error line of stderr)."""

    def run_command(command):
        monkeypatch.chdir(tmp_path)
        for name in ("TEXT", "TABLE", "SEQUENCE", "SEGMENTATION", "BOXES"):
            if name in command:
                command = command.replace(name, str(directory_of(name.lower())))
        command = command.replace("COLORS", str(colors)).replace("FILES", str(files))
        code, out, err = start(*shlex.split(command))
        return code, out, err.splitlines()[-1]

    return run_command


@pytest.mark.parametrize(("command", "code", "message"), TABLE)
def test_a_message(run, tmp_path, command, code, message):
    found, out, line = run(command)
    assert (found, out) == (code, "")
    assert re.match(f"error: .*(?:{message})", line)
    assert not list(tmp_path.iterdir())


def test_what_is_found_in_the_midst_of_training_says_the_remedy_of_a_command(run):
    more = "--epochs 1 --steps-per-epoch 40 --batch-size 8 --devices cpu"
    code, _, line = run(f"{TRAIN} FILES/late.tfrecord {more}")
    assert code == 3
    assert "--schema" in line
