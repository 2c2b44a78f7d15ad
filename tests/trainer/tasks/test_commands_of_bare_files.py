"""`train` and `evaluate` on bare files: what a run knows of them, and what a user declares."""

import json

import numpy as np
import pytest

from trainer.__main__ import main


@pytest.fixture
def command(tmp_path, capsys):
    """A function (command, file, more options) to (exit code, stdout, stderr), of two steps."""

    def run(name, file, *more):
        where = ["--data", str(tmp_path / file), "--output" if name == "train" else "--run"]
        steps = ["--epochs", "1", "--steps-per-epoch", "2", "--batch-size", "8", "--seed", "1"]
        options = [name, *where, str(tmp_path / "run"), "--devices", "cpu"]
        code = main([*options, *(steps if name == "train" else ()), *more])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def sequences(lengths):
    rng = np.random.default_rng(3)
    return [
        {"sequence": rng.integers(0, 9, length).tolist(), "weight": 0.5, "label": number % 2}
        for number, length in enumerate(lengths)
    ]


def described(run_path):
    return json.loads((run_path / "task.json").read_text())["features"]


OF_FIVE = pytest.param(sequences([5] * 12), id="all of one length")
OF_ONE = pytest.param(sequences([3]), id="one record")


@pytest.mark.parametrize("records", [OF_FIVE, OF_ONE])
def test_a_run_knows_what_its_inputs_are(records, command, tmp_path, write_records):
    write_records(tmp_path / "train.tfrecord", sequences([1, 8, 2, 5] * 4))
    write_records(tmp_path / "test.tfrecord", records)
    assert command("train", "train.tfrecord")[0] == 0

    code, out, err = command("evaluate", "test.tfrecord")

    assert code == 0, err
    assert json.loads(out)["num_records"] == len(records)
    assert [each["name"] for each in described(tmp_path / "run")] == ["sequence", "label"]


def test_a_resumed_run_knows_them_too_and_its_weight(command, tmp_path, write_records):
    write_records(tmp_path / "a.tfrecord", sequences([1, 8, 2, 5] * 4))
    weighed = ["--sample-weight", "weight"]
    assert command("train", "a.tfrecord", *weighed)[0] == 0
    before = described(tmp_path / "run")
    write_records(tmp_path / "a.tfrecord", sequences([5] * 16))

    code, _, err = command("train", "a.tfrecord", *weighed, "--resume", "--epochs", "2")

    assert code == 0, err
    assert described(tmp_path / "run") == before
    assert [each["name"] for each in before] == ["sequence", "label", "weight"]


def test_evaluation_needs_no_weight(command, tmp_path, write_records):
    records = sequences([1, 8, 2, 5] * 4)
    write_records(tmp_path / "train.tfrecord", records)
    without = [{"sequence": each["sequence"], "label": each["label"]} for each in records]
    write_records(tmp_path / "test.tfrecord", without)
    assert command("train", "train.tfrecord", "--sample-weight", "weight")[0] == 0

    assert command("evaluate", "test.tfrecord")[0] == 0


def test_an_earlier_run_that_has_not_recorded_its_features(command, tmp_path, write_records):
    write_records(tmp_path / "train.tfrecord", sequences([1, 8, 2, 5] * 4))
    write_records(tmp_path / "test.tfrecord", sequences([5] * 4))
    assert command("train", "train.tfrecord")[0] == 0
    file = tmp_path / "run" / "task.json"
    task = json.loads(file.read_text())
    del task["features"]
    file.write_text(json.dumps(task))

    assert command("evaluate", "train.tfrecord")[0] == 0
    code, _, err = command("evaluate", "test.tfrecord")

    assert code == 2
    assert "trained on a sequence of int64, of any length; give data of the same" in err


def test_shards_of_a_directory_are_evaluated_by_what_it_said_of_them(
    command, tmp_path, directory_of
):
    data = directory_of("audio")  # its sounds have a stated rate, its label has named classes
    assert command("train", data)[0] == 0

    code, out, err = command("evaluate", data / "tiny-test.tfrecord-*")

    assert code == 0, err
    assert json.loads(out)["num_records"] == 13


@pytest.mark.parametrize(
    ("records", "message"),
    [
        pytest.param([{"label": 1}], "'sequence'; there is: label", id="missing"),
        pytest.param(
            [{"sequence": [0.5], "label": 1}], "key 'sequence' holds float32", id="another type"
        ),
    ],
)
def test_records_of_another_kind_are_refused(records, message, command, tmp_path, write_records):
    write_records(tmp_path / "train.tfrecord", sequences([1, 8, 2, 5] * 4))
    write_records(tmp_path / "test.tfrecord", records)
    assert command("train", "train.tfrecord")[0] == 0

    code, _, err = command("evaluate", "test.tfrecord")

    assert code == 2
    assert message in err
    assert "That is what the model was trained on: give data of the same features" in err
