"""A finished run in Python, and predictions as a submission."""

import csv
import json
import shutil

import pytest

import trainer
from trainer.runs.directory import sealed


@pytest.fixture
def table(directory_of, run_of):
    """Directory of a table dataset, and a run on it."""
    return directory_of("table"), run_of("table")


def test_a_run(table):
    _, path = table
    run = trainer.open_run(path)
    assert (run.task, run.inputs) == ("tabular_classification", ("age", "zero"))
    assert (run.target, run.classes) == ("y", ("0", "1"))
    assert run.metrics["epoch"] == 1
    assert run.model.count_params() > 0
    with pytest.raises(trainer.ConfigError):
        trainer.open_run(path.parent)


def test_a_run_whose_dataset_has_moved_asks_for_it(table, tmp_path):
    _, path = table
    run = shutil.copytree(path, tmp_path / "run")
    config = json.loads((run / "config.json").read_text())
    config["options"]["data"] = str(tmp_path / "moved")
    (run / "config.json").write_bytes(sealed({k: v for k, v in config.items() if k != "checksum"}))
    with pytest.raises(trainer.ConfigError, match=r"moved, which is not there; .* --data"):
        trainer.evaluate(run)


def test_evaluate_and_predict(table):
    data, path = table
    run = trainer.open_run(path)
    dataset = trainer.open(data)
    result = trainer.evaluate(run, dataset, quiet=True)
    assert result["num_records"] == 13
    assert result == trainer.evaluate(path, data, quiet=True) == trainer.evaluate(path, quiet=True)

    rows = trainer.predict(run, dataset)
    assert len(rows) == 13
    assert rows == trainer.predict(path, data)
    assert trainer.predict(run, []) == []
    records = [*dataset.numpy("test", features=["age", "zero"])]
    values = [{name: each.item() for name, each in record.items()} for record in records]
    by_value = trainer.predict(run, values)
    assert [row["source"] for row in by_value[:2]] == ["row 1", "row 2"]
    for one, other in zip(rows, by_value, strict=True):
        assert one["probability"] == pytest.approx(other["probability"], abs=1e-6)


@pytest.fixture
def submit(table, tmp_path, start):
    """A function of (inputs, columns) that returns exit code, lines of the file, and stderr."""

    def run(inputs, columns):
        file = tmp_path / "submission.csv"
        words = ("predict", inputs, "--run", table[1], "--format", "csv", "--output", file)
        code, _, err = start(*words, "--columns", columns)
        return code, [*csv.reader(file.read_text().splitlines())] if code == 0 else [], err

    return run


def test_a_submission(table, submit, tmp_path):
    (tmp_path / "test.csv").write_text("zero,id,age\n0,A7,30\n0,B9,50\n")
    code, lines, _ = submit(tmp_path / "test.csv", "source,probability")
    assert (code, [line[0] for line in lines[1:]]) == (
        0,
        [f"{tmp_path}/test.csv:{number}" for number in (2, 3)],
    )
    assert lines[1][1] != lines[2][1]
    code, lines, _ = submit(tmp_path / "test.csv", "id,y")
    assert (code, lines[0], [line[0] for line in lines[1:]]) == (0, ["id", "y"], ["A7", "B9"])
    assert {line[1] for line in lines[1:]} <= {"0", "1"}
    code, lines, _ = submit(tmp_path / "test.csv", "id,Survived=y,P=probability")
    assert (code, lines[0], lines[1][0]) == (0, ["id", "Survived", "P"], "A7")
    assert lines[1][1] in {"0", "1"}
    code, lines, _ = submit(table[0], "code,probability,y")
    assert (code, lines[0], len(lines)) == (0, ["code", "probability", "y"], 14)
    assert all(line[0].isdigit() for line in lines[1:])


def test_no_such_column(table, submit, tmp_path):
    (tmp_path / "test.csv").write_text("id,age,zero\nA7,30,0\n")
    for inputs in (table[0], tmp_path / "test.csv"):
        code, _, err = submit(inputs, "number,y")
        assert code == 2
        assert "unknown column 'number' in --columns" in err
        assert "number=y" in err
        assert not (tmp_path / "submission.csv").exists()
    (tmp_path / "short.csv").write_text("age\n30\n")
    code, _, err = submit(tmp_path / "short.csv", "y")
    assert (code, "which the model needs, 'zero'" in err) == (2, True)


def test_a_number_has_the_name_of_the_target(directory_of, run_of, start):
    data, run = directory_of("regression"), run_of("regression")
    _, out, _ = start("predict", data, "--run", run, "--format", "csv")
    assert out.splitlines()[0] == "source,price"
    _, out, _ = start("predict", data, "--run", run)
    assert json.loads(out.splitlines()[0]).keys() == {"source", "prediction"}
