"""The task by the schema, or as asked: what leads, what joins, what is left out."""

import pytest

from trainer.config import TASK_NAMES
from trainer.errors import ConfigError, UnknownNameError
from trainer.features import features_from_json
from trainer.tasks import TASKS, Settings, choose_task

IMAGE = {"kind": "image"}
LABEL = {"kind": "class_label", "classes": ["a", "b"]}
UNKNOWN_LABEL = {"kind": "class_label"}
AUDIO = {"kind": "audio", "sample_rate": 8000}
IDS = {"kind": "sequence", "dtype": "int64"}
SERIES = {"kind": "sequence", "dtype": "float32", "shape": [None, 3]}
TEXT = {"kind": "text"}
INTEGER = {"kind": "scalar", "dtype": "int64"}
FLOAT = {"kind": "scalar", "dtype": "float32"}
NAME = {"kind": "scalar", "dtype": "string"}
VECTOR = {"kind": "tensor", "dtype": "float32", "shape": [5]}
COUNTS = {"kind": "tensor", "dtype": "int64", "shape": [5]}
GRID = {"kind": "tensor", "dtype": "float32", "shape": [8, 8], "encoding": "bytes"}
BLOB = {"kind": "bytes"}


def choose(declared, name="auto", target=None, **options):
    return choose_task(name, features_from_json(declared), target, **options)


@pytest.mark.parametrize(
    ("declared", "name", "inputs", "goal"),
    [
        pytest.param({"i": IMAGE, "l": LABEL}, "classification", ["i"], "class", id="image"),
        pytest.param(
            {"image": IMAGE, "metadata": VECTOR, "label": LABEL, "age": INTEGER, "c": TEXT},
            "image_metadata",
            ["image", "metadata"],
            "class",
            id="vectors join an image, scalars and texts do not",
        ),
        pytest.param(
            {"image": IMAGE, "counts": COUNTS, "label": LABEL},
            "classification",
            ["image"],
            "class",
            id="whole numbers do not join",
        ),
        pytest.param(
            {"image": IMAGE, "mask": IMAGE, "label": LABEL, "sex": LABEL},
            "classification",
            ["image"],
            "class",
            id="the usual names win",
        ),
        pytest.param(
            {"audio": AUDIO, "label": LABEL, "speaker": TEXT, "index": INTEGER},
            "audio_classification",
            ["audio"],
            "class",
            id="audio",
        ),
        pytest.param(
            {"s": IDS, "label": UNKNOWN_LABEL}, "sequence_classification", ["s"], "class", id="ids"
        ),
        pytest.param(
            {"s": SERIES, "label": LABEL}, "sequence_classification", ["s"], "class", id="series"
        ),
        pytest.param({"t": TEXT, "label": LABEL}, "text_classification", ["t"], "class", id="text"),
        pytest.param({"x": GRID, "y": INTEGER}, "array_classification", ["x"], "class", id="array"),
        pytest.param(
            {"a": INTEGER, "b": FLOAT, "v": VECTOR, "n": BLOB, "target": INTEGER},
            "tabular_classification",
            ["a", "b", "v"],
            "class",
            id="table",
        ),
        pytest.param({"a": INTEGER, "y": FLOAT}, "regression", ["a"], "numbers", id="number"),
        pytest.param({"i": IMAGE, "y": FLOAT}, "regression", ["i"], "numbers", id="of an image"),
        pytest.param({"a": FLOAT, "y": VECTOR}, "regression", ["a"], "numbers", id="vector"),
        pytest.param(
            {"image": IMAGE, "label": {**LABEL, "shape": [None]}},
            "classification",
            ["image"],
            "classes",
            id="several labels",
        ),
        pytest.param(
            {"a": FLOAT, "target": NAME}, "tabular_classification", ["a"], "class", id="names"
        ),
    ],
)
def test_auto_goes_by_the_schema(declared, name, inputs, goal):
    task, reason = choose(declared)

    assert (task.name, task.goal.kind) == (name, goal)
    assert [each.name for each in task.inputs.values()] == inputs
    for left_out in set(declared) - {*inputs, task.target}:
        assert f"{left_out} (" in reason.partition("left out: ")[2]


def test_auto_says_why():
    _, reason = choose({"image": IMAGE, "metadata": VECTOR, "label": LABEL, "c": TEXT})

    assert reason == (
        "from image (image), metadata (tensor of float32) to label (class_label) of 2 classes, by "
        "the schema; left out: c (text)"
    )


def test_a_long_list_is_cut():
    columns = {f"c{number}": FLOAT for number in range(50)}

    _, reason = choose({**columns, "label": LABEL})

    assert "c5 (scalar of float32), 44 more to label" in reason


def test_an_unknown_sample_rate_is_said():
    assert "16000 Hz is assumed" in choose({"audio": {"kind": "audio"}, "label": LABEL})[1]
    assert "assumed" not in choose({"audio": AUDIO, "label": LABEL})[1]


@pytest.mark.parametrize(
    ("declared", "options", "name", "inputs", "goal"),
    [
        pytest.param(
            {"audio": AUDIO, "speaker_id": INTEGER, "timestamp": FLOAT},
            {"target": "speaker_id"},
            "audio_classification",
            ["audio"],
            "class",
            id="a whole number is a class",
        ),
        pytest.param(
            {"audio": AUDIO, "speaker_id": INTEGER},
            {"target": "speaker_id", "name": "regression"},
            "regression",
            ["audio"],
            "numbers",
            id="or a number, as asked",
        ),
        pytest.param(
            {"a": FLOAT, "rings": UNKNOWN_LABEL},
            {"name": "regression"},
            "regression",
            ["a"],
            "numbers",
            id="so is a class label",
        ),
        pytest.param(
            {"image": IMAGE, "age": INTEGER, "sex": LABEL, "label": LABEL},
            {"inputs": ["image", "age", "sex"]},
            "image_metadata",
            ["image", "age", "sex"],
            "class",
            id="inputs decide the task",
        ),
        pytest.param(
            {"image": IMAGE, "age": INTEGER, "label": LABEL},
            {"inputs": ["age"]},
            "tabular_classification",
            ["age"],
            "class",
            id="a table from an image's metadata",
        ),
        pytest.param(
            {"image": IMAGE, "v": VECTOR, "label": LABEL},
            {"name": "classification"},
            "classification",
            ["image"],
            "class",
            id="pictures alone",
        ),
        pytest.param(
            {"t": TEXT, "a": FLOAT, "v": VECTOR, "label": LABEL},
            {"name": "tabular_classification"},
            "tabular_classification",
            ["a", "v"],
            "class",
            id="a table with a text",
        ),
        pytest.param(
            {"a": FLOAT, "weight": FLOAT, "label": LABEL},
            {"sample_weight": "weight"},
            "tabular_classification",
            ["a"],
            "class",
            id="the weight is no input",
        ),
        pytest.param(
            {"image": IMAGE, "label": LABEL, "sex": LABEL},
            {"target": "sex"},
            "classification",
            ["image"],
            "class",
            id="another label",
        ),
        pytest.param(
            {"a": FLOAT, "species": TEXT},
            {"target": "species"},
            "tabular_classification",
            ["a"],
            "class",
            id="a text is a class",
        ),
        pytest.param(
            {
                "tags": {"kind": "sequence", "dtype": "string"},
                "tokens": {"kind": "sequence", "dtype": "int64"},
                "label": LABEL,
            },
            {},
            "sequence_classification",
            ["tokens"],
            "class",
            id="numbers lead among sequences",
        ),
    ],
)
def test_what_is_asked_for(declared, options, name, inputs, goal):
    task, _ = choose(declared, **options)

    assert (task.name, task.goal.kind) == (name, goal)
    assert [each.name for each in task.inputs.values()] == inputs
    if "target" in options:
        assert task.target == options["target"]


def test_names_that_keras_does_not_take_are_changed_for_the_model():
    task, _ = choose({"petal/length in cm": FLOAT, "y": INTEGER})

    ((name, only),) = task.inputs.items()
    assert (name, only.name) == ("petal_length_in_cm", "petal/length in cm")


@pytest.mark.parametrize(
    ("declared", "options", "error", "message"),
    [
        pytest.param(
            {"image": IMAGE, "boxes": {"kind": "boxes"}},
            {},
            ConfigError,
            r"no task suits .*boxes \(boxes\)",
            id="nothing to learn",
        ),
        pytest.param(
            {"label": LABEL}, {"name": "classification"}, ConfigError, "kind 'image'", id="no image"
        ),
        pytest.param({"label": LABEL, "b": BLOB}, {}, ConfigError, r"b \(bytes\)", id="no input"),
        pytest.param(
            {"image": IMAGE, "sex": LABEL, "age": LABEL},
            {},
            ConfigError,
            "name one by --target",
            id="several labels",
        ),
        pytest.param(
            {"image": IMAGE, "sex": LABEL, "age": LABEL},
            {"target": "aeg"},
            UnknownNameError,
            "did you mean 'age'",
            id="no such target",
        ),
        pytest.param(
            {"left": IMAGE, "right": IMAGE, "label": LABEL},
            {},
            ConfigError,
            "several features of kind 'image'.*by --inputs$",
            id="several images",
        ),
        pytest.param(
            {"city": TEXT, "job": TEXT, "age": FLOAT, "label": LABEL},
            {},
            ConfigError,
            "by --inputs, or .* numbers alone by --task tabular_classification",
            id="a table with words",
        ),
        pytest.param(
            {"image": IMAGE, "label": LABEL},
            {"name": "clasification"},
            UnknownNameError,
            "did you mean 'classification'",
            id="unknown task",
        ),
        pytest.param(
            {"image": IMAGE, "label": LABEL},
            {"name": "audio_classification"},
            ConfigError,
            "kind 'audio'",
            id="no sound for it",
        ),
        pytest.param(
            {"image": IMAGE, "a": FLOAT, "label": LABEL},
            {"name": "audio_classification", "inputs": ["image", "a"]},
            ConfigError,
            "kind 'audio', and there is none among the inputs image, a",
            id="inputs without sound",
        ),
        pytest.param(
            {"image": IMAGE, "a": FLOAT, "label": LABEL},
            {"name": "classification", "inputs": ["image", "a"]},
            ConfigError,
            "use --task image_metadata",
            id="more than a picture",
        ),
        pytest.param(
            {"image": IMAGE, "a": FLOAT, "label": LABEL},
            {"name": "image_metadata"},
            ConfigError,
            "--inputs, or use --task classification",
            id="no vector beside the picture",
        ),
        pytest.param(
            {"a": FLOAT, "y": FLOAT},
            {"name": "tabular_classification"},
            ConfigError,
            "y .scalar of float32. holds no class.*--task regression",
            id="a fraction is no class",
        ),
        pytest.param(
            {"a": FLOAT, "y": COUNTS},
            {},
            ConfigError,
            "holds no class.*--task regression",
            id="several whole numbers",
        ),
        pytest.param(
            {"a": FLOAT, "tags": IDS},
            {"target": "tags"},
            ConfigError,
            r"declare it a class_label, with shape \[null\]",
            id="a sequence",
        ),
        pytest.param(
            {"a": FLOAT, "t": TEXT},
            {"target": "t", "name": "regression"},
            ConfigError,
            "holds no number to learn",
            id="a text is no number",
        ),
        pytest.param(
            {"a": FLOAT, "label": LABEL},
            {"inputs": ["b"]},
            UnknownNameError,
            "'b'.*there are: a, label",
            id="no such input",
        ),
        pytest.param(
            {"a": FLOAT, "label": LABEL},
            {"inputs": ["a", "label"]},
            ConfigError,
            "'label', which is the target",
            id="the target as input",
        ),
        pytest.param(
            {"a": FLOAT, "label": LABEL},
            {"inputs": ["a", "a"]},
            ConfigError,
            "there twice",
            id="an input twice",
        ),
        pytest.param(
            {"a": FLOAT, "b": BLOB, "label": LABEL},
            {"inputs": ["b"]},
            ConfigError,
            "no model takes b",
            id="bytes as input",
        ),
        pytest.param(
            {"a/b": FLOAT, "a b": FLOAT, "label": LABEL},
            {},
            ConfigError,
            "both 'a_b' to Keras",
            id="names too much alike",
        ),
        pytest.param(
            {"a": FLOAT, "t": TEXT, "label": LABEL},
            {"inputs": ["a"], "sample_weight": "t"},
            UnknownNameError,
            "--sample-weight",
            id="a text as weight",
        ),
        pytest.param(
            {"a": FLOAT, "label": LABEL},
            {"settings": Settings(lengths={"a": 3})},
            UnknownNameError,
            "--pad, 'a'",
            id="a number is not padded",
        ),
        pytest.param(
            {"a": FLOAT, "label": LABEL},
            {"settings": Settings(image_model="MobileNetV2")},
            ConfigError,
            "--model MobileNetV2 .* is for pictures",
            id="a model for pictures",
        ),
    ],
)
def test_what_does_not_suit(declared, options, error, message):
    with pytest.raises(error, match=message):
        choose(declared, **options)


def test_the_command_knows_the_tasks():
    assert TASKS == TASK_NAMES
