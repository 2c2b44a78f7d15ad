"""Inputs and target by the schema, or as asked: what leads, what joins, what is left out."""

import pytest

from trainer.tasks import Settings
from trainer.tasks.record import check_same_records


@pytest.mark.parametrize(
    ("declared", "name", "inputs", "goal"),
    [
        pytest.param({"i": "image", "l": "label"}, "classification", ["i"], "class", id="image"),
        pytest.param(
            {
                "image": "image",
                "metadata": "vector",
                "label": "label",
                "age": "integer",
                "c": "text",
            },
            "image_metadata",
            ["image", "metadata"],
            "class",
            id="vectors join an image, scalars and texts do not",
        ),
        pytest.param(
            {"image": "image", "counts": "counts", "label": "label"},
            "classification",
            ["image"],
            "class",
            id="whole numbers do not join",
        ),
        pytest.param(
            {"image": "image", "mask": "image", "label": "label", "sex": "label"},
            "classification",
            ["image"],
            "class",
            id="the usual names win",
        ),
        pytest.param(
            {"image": "image", "boxes": "boxes", "age": "float", "v": "vector"},
            "detection",
            ["image"],
            "boxes",
            id="boxes without a label of the image",
        ),
        pytest.param(
            {"image": "image", "boxes": "boxes", "label": "label"},
            "classification",
            ["image"],
            "class",
            id="a label of the image wins over its boxes",
        ),
        pytest.param(
            {"image": "image", "map": "map", "depth": "depth map", "age": "float"},
            "segmentation",
            ["image"],
            "map",
            id="a map without a label of the image",
        ),
        pytest.param(
            {"image": "image", "boxes": "boxes", "map": "map"},
            "detection",
            ["image"],
            "boxes",
            id="boxes win over a map",
        ),
        pytest.param(
            {"audio": "audio", "label": "label", "speaker": "text", "index": "integer"},
            "audio_classification",
            ["audio"],
            "class",
            id="audio",
        ),
        pytest.param(
            {"s": "ids", "label": "unknown label"},
            "sequence_classification",
            ["s"],
            "class",
            id="ids",
        ),
        pytest.param(
            {"s": "series", "label": "label"},
            "sequence_classification",
            ["s"],
            "class",
            id="series",
        ),
        pytest.param(
            {"t": "text", "label": "label"}, "text_classification", ["t"], "class", id="text"
        ),
        pytest.param(
            {"x": "grid", "y": "integer"}, "array_classification", ["x"], "class", id="array"
        ),
        pytest.param(
            {"a": "integer", "b": "float", "v": "vector", "n": "blob", "target": "integer"},
            "tabular_classification",
            ["a", "b", "v"],
            "class",
            id="table",
        ),
        pytest.param({"a": "integer", "y": "float"}, "regression", ["a"], "numbers", id="number"),
        pytest.param(
            {"i": "image", "y": "float"}, "regression", ["i"], "numbers", id="of an image"
        ),
        pytest.param({"a": "float", "y": "vector"}, "regression", ["a"], "numbers", id="vector"),
        pytest.param(
            {"image": "image", "label": "labels"},
            "classification",
            ["image"],
            "classes",
            id="several labels",
        ),
        pytest.param(
            {"a": "float", "y": "counts"},
            "tabular_classification",
            ["a"],
            "multi_hot",
            id="0 or 1 for each class",
        ),
        pytest.param(
            {"a": "float", "target": "name"}, "tabular_classification", ["a"], "class", id="names"
        ),
    ],
)
def test_auto_goes_by_the_schema(choose, declared, name, inputs, goal):
    task, reason = choose(declared)

    assert (task.name, task.goal.kind) == (name, goal)
    assert [each.name for each in task.inputs.values()] == inputs
    for left_out in set(declared) - {*inputs, task.target}:
        assert f"{left_out} (" in reason.partition("left out: ")[2]


ALL = {"image": "image", "boxes": "boxes", "map": "map", "label": "label", "y": "float"}


@pytest.mark.parametrize(
    ("declared", "task", "target", "name", "goal"),
    [
        pytest.param(ALL, "segmentation", None, "segmentation", "map", id="the map"),
        pytest.param(ALL, "detection", None, "detection", "boxes", id="the boxes"),
        pytest.param(ALL, "classification", None, "classification", "label", id="the label"),
        pytest.param(ALL, "regression", "y", "regression", "y", id="a number that is named"),
        pytest.param(
            {"image": "image", "label": "label", "other": "map", "map": "map"},
            "segmentation",
            "other",
            "segmentation",
            "other",
            id="a map that is named",
        ),
        pytest.param(
            {"a": "float", "y": "integer"}, "regression", None, "regression", "y", id="as a number"
        ),
    ],
)
def test_a_task_that_is_named_chooses_its_target(choose, declared, task, target, name, goal):
    chosen, _ = choose(declared, target, task=task)

    assert (chosen.name, chosen.target) == (name, goal)


def test_auto_says_why(choose):
    _, reason = choose({"image": "image", "metadata": "vector", "label": "label", "c": "text"})

    assert reason == (
        "from image (image), metadata (tensor of float32) to label (class_label) of 2 classes; "
        "left out: c (text)"
    )


def test_a_long_list_is_cut(choose):
    columns = {f"c{number}": "float" for number in range(50)}

    _, reason = choose({**columns, "label": "label"})

    assert "c5 (scalar of float32), 44 more to label" in reason


def test_an_unknown_sample_rate_is_said(choose):
    assert "16000 Hz is assumed" in choose({"audio": "audio of any rate", "label": "label"})[1]
    assert "assumed" not in choose({"audio": "audio", "label": "label"})[1]


@pytest.mark.parametrize(
    ("declared", "options", "name", "inputs", "goal"),
    [
        pytest.param(
            {"audio": "audio", "speaker_id": "integer", "timestamp": "float"},
            {"target": "speaker_id"},
            "audio_classification",
            ["audio"],
            "class",
            id="a whole number is a class",
        ),
        pytest.param(
            {"audio": "audio", "speaker_id": "integer"},
            {"target": "speaker_id", "target_as": "number"},
            "regression",
            ["audio"],
            "numbers",
            id="or a number, as asked",
        ),
        pytest.param(
            {"a": "float", "rings": "unknown label"},
            {"target_as": "number"},
            "regression",
            ["a"],
            "numbers",
            id="so is a class label",
        ),
        pytest.param(
            {"image": "image", "age": "integer", "sex": "label", "label": "label"},
            {"inputs": ["image", "age", "sex"]},
            "image_metadata",
            ["image", "age", "sex"],
            "class",
            id="inputs decide the task",
        ),
        pytest.param(
            {"image": "image", "age": "integer", "label": "label"},
            {"inputs": ["age"]},
            "tabular_classification",
            ["age"],
            "class",
            id="a table from an image's metadata",
        ),
        pytest.param(
            {"image": "image", "v": "vector", "label": "label"},
            {"inputs": ["image"]},
            "classification",
            ["image"],
            "class",
            id="images alone",
        ),
        pytest.param(
            {"t": "text", "a": "float", "v": "vector", "label": "label"},
            {"inputs": ["a", "v"]},
            "tabular_classification",
            ["a", "v"],
            "class",
            id="a table with a text",
        ),
        pytest.param(
            {"a": "float", "weight": "float", "label": "label"},
            {"sample_weight": "weight"},
            "tabular_classification",
            ["a"],
            "class",
            id="the weight is no input",
        ),
        pytest.param(
            {"image": "image", "label": "label", "sex": "label"},
            {"target": "sex"},
            "classification",
            ["image"],
            "class",
            id="another label",
        ),
        pytest.param(
            {"image": "image", "label": "label", "boxes": "boxes"},
            {"target": "boxes"},
            "detection",
            ["image"],
            "boxes",
            id="boxes beside a label",
        ),
        pytest.param(
            {"a": "float", "y": "vector"},
            {"target_as": "class"},
            "tabular_classification",
            ["a"],
            "multi_hot",
            id="fractions that are 0.0 or 1.0 for each class",
        ),
        pytest.param(
            {"a": "float", "species": "text"},
            {"target": "species"},
            "tabular_classification",
            ["a"],
            "class",
            id="a text is a class",
        ),
        pytest.param(
            {
                "tags": "words",
                "tokens": "ids",
                "label": "label",
            },
            {},
            "sequence_classification",
            ["tokens"],
            "class",
            id="numbers lead among sequences",
        ),
    ],
)
def test_what_is_asked_for(choose, declared, options, name, inputs, goal):
    task, _ = choose(declared, **options)

    assert (task.name, task.goal.kind) == (name, goal)
    assert [each.name for each in task.inputs.values()] == inputs
    if "target" in options:
        assert task.target == options["target"]


def test_names_that_keras_does_not_take_are_changed_for_the_model(choose):
    task, _ = choose({"petal/length in cm": "float", "y": "integer"})

    ((name, only),) = task.inputs.items()
    assert (name, only.name) == ("petal_length_in_cm", "petal/length in cm")


def test_boxes_take_the_size_of_the_image_and_the_most_of_pad(choose):
    task, _ = choose(
        {"image": "image", "boxes": "boxes"},
        settings=Settings(image_size=(64, 96), lengths={"boxes": 7}),
    )

    assert (task.goal.height, task.goal.width, task.goal.pad_to) == (64, 96, 7)
    assert task.output_shape == (96 + 24 + 6, 1 + 5)


@pytest.mark.parametrize(
    ("inputs", "options"),
    [
        pytest.param({"image": "image", "label": "label"}, {}, id="a class"),
        pytest.param({"image": "image", "label": "labels"}, {}, id="several classes"),
        pytest.param({"image": "image", "boxes": "boxes"}, {}, id="boxes"),
        pytest.param({"a": "float", "y": "float"}, {}, id="a number"),
        pytest.param({"a": "float", "y": "integer"}, {"target_as": "number"}, id="as a number"),
        pytest.param({"a": "float", "y": "vector"}, {"target_as": "class"}, id="as classes"),
    ],
)
def test_a_model_takes_the_data_that_it_was_trained_on(choose, declare, inputs, options):
    settings = Settings(image_size=(64, 96))
    task, _ = choose(inputs, settings=settings, **options)

    check_same_records(task, declare(inputs), settings)
