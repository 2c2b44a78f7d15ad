"""Records whose target is missing are left out of training, validation and evaluation."""

import json
import shutil

import numpy as np
import pytest

import trainer
from trainer.runs.directory import RunDirectory

_X, _Y = ({"name": name, "kind": "scalar", "dtype": "float32", "key": name} for name in "xy")
# Of 40, 10 and 7 records of each split.
_MISSING = {"train": {0, 5, 39}, "validation": {2, 3}, "test": {6}}
_COUNTS = {"train": 40, "validation": 10, "test": 7}


def records(split, missing):
    return [
        {"x": float(number), "y": np.array([np.nan if number in missing else number], "float32")}
        for number in range(_COUNTS[split])
    ]


@pytest.fixture(scope="module")
def table(tmp_path_factory, write_dataset):
    """A table of numbers x and y, some of which are missing in y."""
    folder = tmp_path_factory.mktemp("gaps") / "table" / "1.0.0"
    return write_dataset(
        folder, [_X, _Y], {split: records(split, gaps) for split, gaps in _MISSING.items()}
    )


OPTIONS = ("--target", "y", "--epochs", 2, "--batch-size", 8, "--devices", "cpu")


@pytest.mark.slow
def test_training_and_evaluation_count_and_leave_them_out(table, tmp_path, start):
    run = tmp_path / "run"

    code, _, said = start("train", "--data", table, "--output", run, *OPTIONS)

    assert code == 0, said
    assert "left out 3 of 40 records of 'train', whose target 'y' is missing (NaN)" in said
    assert "left out 2 of 10 records of 'validation'" in said
    *_, last = RunDirectory(str(run)).read_history()
    assert (last["epoch"], last["step"]) == (2, 2 * (37 // 8))
    assert all(np.isfinite(value) for value in last.values())

    code, printed, said = start("evaluate", "--data", table, "--run", run)

    assert (code, json.loads(printed)["num_records"]) == (0, 6)
    assert "left out 1 of 7 records of 'test'" in said

    code, _, said = start("train", "--output", run, "--resume", "--epochs", 3)

    assert (code, "left out 3 of 40 records" in said) == (0, True)
    *_, last = RunDirectory(str(run)).read_history()
    assert (last["epoch"], last["step"]) == (3, 12)


@pytest.mark.slow
@pytest.mark.parametrize("is_stated", [True, False])
def test_records_with_an_empty_text_are_left_out(tmp_path, write_dataset, start, is_stated):
    features = [_X, {"name": "y", "kind": "text", "dtype": "string", "key": "y"}]
    texts = [b"a", b"", b"b", b"b"] * 5
    rows = {
        split: [{"x": float(number), "y": text} for number, text in enumerate(texts)]
        for split in _COUNTS
    }
    data = write_dataset(tmp_path / "d" / "1.0.0", features, rows)
    facts = {split: {"features": {"y": {"strings": {"a": 5, "": 5, "b": 10}}}} for split in rows}
    if is_stated:
        (data / "statistics.json").write_text(json.dumps({"splits": facts}))
    run = tmp_path / "run"

    code, _, said = start("train", "--data", data, "--output", run, *OPTIONS)

    assert code == 0, said
    assert (
        "left out 5 of 20 records of 'train', whose target 'y' is missing (an empty text)" in said
    )
    assert trainer.open_run(run).classes == ("a", "b")
    code, printed, _ = start("evaluate", "--data", data, "--run", run)
    assert (code, json.loads(printed)["num_records"]) == (0, 15)


@pytest.mark.parametrize(
    ("split", "option"), [("train", "--target"), ("validation", "--validation-split")]
)
def test_a_split_without_any_target(tmp_path, write_dataset, start, split, option):
    gaps = {name: records(name, range(40) if name == split else ()) for name in _COUNTS}
    data = write_dataset(tmp_path / "d" / "1.0.0", [_X, _Y], gaps)

    code, _, said = start("train", "--data", data, "--output", tmp_path / "run", *OPTIONS)

    assert code == 2
    expected = f"target 'y' is missing (NaN) in all {_COUNTS[split]} records of '{split}'"
    assert f"{expected}; choose another with {option}" in said


def test_a_vector_with_one_gap_and_a_share_held_out(tmp_path, write_records):
    values = np.arange(60, dtype="float32").reshape(30, 2)
    values[[3, 17], 1] = np.nan
    write_records(
        tmp_path / "a.tfrecord", [{"y": row, "n": number} for number, row in enumerate(values)]
    )
    dataset = trainer.open(tmp_path / "a.tfrecord")
    (split,) = dataset.splits

    divided = dataset.hold_out(split, 0.3, "held")
    for name in (split, "held"):
        divided = divided.without_missing(name, "y")

    kept = [
        int(number)
        for name in (split, "held")
        for batch in divided.batches(name, features="n")
        for number in batch["n"]
    ]
    assert sorted(kept) == [number for number in range(30) if number not in (3, 17)]
    assert divided.num_records(split) + divided.num_records("held") == 28


@pytest.mark.parametrize(
    ("facts", "num_records"),
    [
        pytest.param({"count": 10, "missing": 0}, 10, id="not read"),
        pytest.param({"count": 8, "missing": 2}, 8, id="read"),
        pytest.param({}, 8, id="not stated"),
    ],
)
def test_a_split_is_not_read_if_its_statistics_state_no_gap(table, tmp_path, facts, num_records):
    copy = tmp_path / "table" / "1.0.0"
    shutil.copytree(table, copy)
    stated = {"splits": {"validation": {"features": {"y": facts}}}}
    (copy / "statistics.json").write_text(json.dumps(stated))
    dataset = trainer.open(copy)

    assert dataset.without_missing("validation", "y").num_records("validation") == num_records
    assert dataset.without_missing("validation", "x").num_records("validation") == 10
