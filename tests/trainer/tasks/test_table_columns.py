"""Kinds of columns from a sample, and the columns that a task uses."""

import math

import numpy as np
import pytest
import tensorflow as tf
from kinds_of_learning import training

import trainer
from tfrecord_dataset.format.declaration import features_from_json
from trainer.errors import ConfigError
from trainer.tasks import choose_task
from trainer.tasks.inputs.tabular import days
from trainer.tasks.reading import evaluation_batches
from trainer.tasks.table_columns import ColumnKind, SampledColumn, sample_columns

TEXT, INT, FLOAT = {"kind": "text"}, {"kind": "scalar", "dtype": "int64"}, {"kind": "scalar"}
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog"]


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        pytest.param("x", [0.5, None] * 100, ColumnKind.NUMBER, id="fractions"),
        pytest.param("x", [7, 9] * 100, ColumnKind.NUMBER, id="whole numbers"),
        pytest.param("rooms", [*range(0, 2000, 10)], ColumnKind.NUMBER, id="far apart"),
        pytest.param("x", [*range(1, 201)], ColumnKind.ID, id="counted"),
        pytest.param("user_id", [*range(60)] * 4, ColumnKind.ID, id="named an id"),
        pytest.param("x", ["a", "b"] * 100, ColumnKind.CATEGORY, id="few values"),
        pytest.param("x", [f"c{i % 90}" for i in range(200)], ColumnKind.CATEGORY, id="towns"),
        pytest.param("x", [f"c{i}" for i in range(200)], ColumnKind.ID, id="a value each"),
        pytest.param("x", ["once in a while", "never at all"] * 9, ColumnKind.CATEGORY, id="words"),
        pytest.param(
            "x", [" ".join(WORDS[:3]) + str(i) for i in range(99)], ColumnKind.TEXT, id="t"
        ),
        pytest.param("x", ["2024-02-29", "2024-03-01 10:30"] * 9, ColumnKind.DATE, id="dates"),
        pytest.param("x", ["", None, " "], ColumnKind.EMPTY, id="nothing"),
    ],
)
def test_the_kind_of_a_column(name, values, kind):
    stored = [value.encode() if isinstance(value, str) else value for value in values]
    known = next(value for value in values if value is not None)
    declared = TEXT if isinstance(known, str) else INT if isinstance(known, int) else FLOAT
    (feature,) = features_from_json({name: {"dtype": "float32", **declared}}).values()
    assert SampledColumn.of(feature, stored, len(values)).kind is kind


COLUMNS = {
    "size": ColumnKind.NUMBER,
    "town": ColumnKind.CATEGORY,
    "sold": ColumnKind.DATE,
    "code": ColumnKind.ID,
    "note": ColumnKind.TEXT,
}


@pytest.mark.parametrize(
    ("declared", "inputs", "taken"),
    [
        ("size=float town=text sold=text code=text y=float", None, "size town sold"),
        ("size=float town=text note=text y=float", None, "note"),
        (f"{' '.join(f'n{i}=float' for i in range(5))} note=text y=float", None, "n0 n1 n2 n3 n4"),
        ("note=text y=float", None, "note"),
        ("size=float town=text note=text y=float", "all", "note size town"),
        ("size=float town=text image code=text y=float", None, "image"),
        ("size=float town=text image code=text y=float", "all", "image size town"),
        ("size=float town=text y=float", "town,size", "town size"),
    ],
)
def test_the_columns_of_a_table(declare, declared, inputs, taken):
    features = declare(declared)
    options = training(target="y", inputs=inputs and inputs.split(","))
    known = {name: SampledColumn(COLUMNS.get(name, ColumnKind.NUMBER)) for name in features}
    task, reason = choose_task(features, options, lambda: known)
    assert " ".join(each.name for each in task.inputs.values()) == taken
    kinds = {each.name: each.kind for each in task.inputs.values()}
    assert kinds.get("town", "text_category") == "text_category"
    assert kinds.get("sold", "date") == "date"
    if "code" in features and "image" not in taken:
        assert "left out: code (looks like an id)" in reason


def test_days():
    texts = ["2000-01-01", "1999-12-31", "2024-02-29T12:00:00Z", "2024/03/01 06:00", "", "today"]
    found = days(tf.constant(texts)).numpy().tolist()
    since = np.datetime64("2000-01-01")
    leap, march = ((np.datetime64(day) - since).astype(int) for day in ("2024-02-29", "2024-03-01"))
    assert found[:4] == [0, -1, leap + 0.5, march + 0.25]
    assert [*map(math.isnan, found[4:])] == [True, True]


def test_a_split_without_records(write_dataset, schema, tmp_path):
    splits = {"train": [{"number": 1}], "test": []}
    empty = trainer.open(write_dataset(tmp_path / "data/1.0.0", [schema["number"]], splits))
    assert sample_columns(empty, "test")["number"].kind is ColumnKind.EMPTY
    with pytest.raises(ConfigError, match="split 'test' has no records"):
        evaluation_batches(None, empty, "test", batch_size=1)


def test_a_sample_of_a_split(dataset):
    found = sample_columns(dataset, "train")
    assert found["number"].values == [*range(0, 50, 3), *range(1, 50, 3), *range(2, 50, 3)]
    assert found["label"].kind is ColumnKind.CATEGORY
