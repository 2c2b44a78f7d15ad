"""Schemas that suit no task, and what was asked for that does not suit the schema."""

import pytest

from trainer.errors import ConfigError, UnknownNameError
from trainer.tasks import Settings


@pytest.mark.parametrize(
    ("declared", "options", "error", "message"),
    [
        pytest.param(
            {"image": "image", "b": "blob"},
            {},
            ConfigError,
            r"no task suits .*b \(bytes\)",
            id="nothing to learn",
        ),
        pytest.param(
            {"image": "image", "boxes": "boxes"},
            {"target_as": "class"},
            ConfigError,
            r"boxes \(boxes\) is predicted as boxes; leave out --as class",
            id="boxes are not classes",
        ),
        pytest.param(
            {"image": "image", "age": "float", "boxes": "boxes"},
            {"inputs": ["image", "age"]},
            ConfigError,
            "detection learns from one image alone, but the inputs are image, age",
            id="boxes from more than an image",
        ),
        pytest.param(
            {"image": "image", "label": "label"},
            {"task": "segmentation"},
            ConfigError,
            "--task segmentation does not suit the dataset's features: image .image., label .class",
            id="no map",
        ),
        pytest.param(
            {"image": "image", "map": "map", "label": "label"},
            {"task": "segmentation", "target": "label"},
            ConfigError,
            "--task segmentation does not suit label .class_label.; leave it out, or name another",
            id="a label is no map",
        ),
        pytest.param(
            {"image": "image", "first": "map", "second": "map"},
            {"task": "segmentation"},
            ConfigError,
            "no task suits .*first .map., second .map.; .* name the target by --target",
            id="several maps",
        ),
        pytest.param(
            {"image": "image", "map": "map without classes"},
            {},
            ConfigError,
            "the map 'map' has no class names, which segmentation needs; declare them by --schema",
            id="a map without classes",
        ),
        pytest.param(
            {"image": "image", "map": "depth map"},
            {"target": "map"},
            ConfigError,
            "map .map. holds depths, which no task predicts; name another by --target",
            id="a depth map",
        ),
        pytest.param(
            {"image": "image", "age": "float", "map": "map"},
            {"inputs": ["image", "age"]},
            ConfigError,
            "segmentation learns from one image alone, but the inputs are image, age",
            id="a map from more than an image",
        ),
        pytest.param(
            {"image": "image", "label": "label"},
            {"settings": Settings(dice=0.5)},
            ConfigError,
            "--dice is for maps of classes, but the target 'label' is one class per record",
            id="Dice of a label",
        ),
        pytest.param(
            {"image": "image", "label": "label"},
            {"settings": Settings(resize="letterbox")},
            ConfigError,
            "--resize letterbox is for boxes, but the target 'label' is one class per record",
            id="a letterbox for a label",
        ),
        pytest.param(
            {"text": "text", "cats": "boxes", "dogs": "boxes"},
            {"target": "cats"},
            ConfigError,
            "there is no input of kind 'image'",
            id="boxes without an image",
        ),
        pytest.param(
            {"image": "image", "cats": "boxes", "dogs": "boxes"},
            {},
            ConfigError,
            "name the target by --target",
            id="two features of boxes",
        ),
        pytest.param(
            {"label": "label", "b": "blob"}, {}, ConfigError, r"b \(bytes\)", id="no input"
        ),
        pytest.param(
            {"image": "image", "sex": "label", "age": "label"},
            {},
            ConfigError,
            "name one by --target",
            id="several labels",
        ),
        pytest.param(
            {"image": "image", "sex": "label", "age": "label"},
            {"target": "aeg"},
            UnknownNameError,
            "did you mean 'age'",
            id="no such target",
        ),
        pytest.param(
            {"left": "image", "right": "image", "label": "label"},
            {},
            ConfigError,
            "several features of kind 'image'.*by --inputs$",
            id="several images",
        ),
        pytest.param(
            {"city": "text", "job": "text", "age": "float", "label": "label"},
            {},
            ConfigError,
            "by --inputs, such as all numbers: --inputs age$",
            id="a table with words",
        ),
        pytest.param(
            {"a": "float", "y": "float"},
            {"target_as": "class"},
            ConfigError,
            "y .scalar of float32. has no class.*--as number",
            id="a fraction is no class",
        ),
        pytest.param(
            {"a": "float", "tags": "ids"},
            {"target": "tags"},
            ConfigError,
            r"declare it a class_label, with shape \[null\]",
            id="a sequence",
        ),
        pytest.param(
            {"a": "float", "t": "text"},
            {"target": "t", "target_as": "number"},
            ConfigError,
            "has no number to predict",
            id="a text is no number",
        ),
        pytest.param(
            {"a": "float", "label": "label"},
            {"inputs": ["b"]},
            UnknownNameError,
            "'b'.*there are: a, label",
            id="no such input",
        ),
        pytest.param(
            {"a": "float", "label": "label"},
            {"inputs": ["a", "label"]},
            ConfigError,
            "'label', which is the target",
            id="the target as input",
        ),
        pytest.param(
            {"a": "float", "label": "label"},
            {"inputs": ["a", "a"]},
            ConfigError,
            "named twice",
            id="an input twice",
        ),
        pytest.param(
            {"a": "float", "b": "blob", "label": "label"},
            {"inputs": ["b"]},
            ConfigError,
            "models cannot take b",
            id="bytes as input",
        ),
        pytest.param(
            {"a/b": "float", "a b": "float", "label": "label"},
            {},
            ConfigError,
            "both named 'a_b' in Keras",
            id="names too much alike",
        ),
        pytest.param(
            {"a": "float", "t": "text", "label": "label"},
            {"inputs": ["a"], "sample_weight": "t"},
            ConfigError,
            r"--sample-weight t: t \(text\) is not one .* it holds strings; .* name another: a$",
            id="a text as weight",
        ),
        pytest.param(
            {"a": "vector", "w": "series", "label": "label"},
            {"sample_weight": "w"},
            ConfigError,
            r"w \(sequence of float32\) .* missing in some records, or of other lengths; write one"
            " number per record$",
            id="a sequence as weight",
        ),
        pytest.param(
            {"a": "vector", "label": "label"},
            {"sample_weight": "a"},
            ConfigError,
            r"it has shape \[5\]",
            id="a vector as weight",
        ),
        pytest.param(
            {"a": "float", "other": "label", "label": "label"},
            {"sample_weight": "other"},
            ConfigError,
            "its numbers are classes; declare it a scalar, or name another: a",
            id="a class as weight",
        ),
        pytest.param(
            {"a": "float", "label": "integer"},
            {"sample_weight": "label"},
            ConfigError,
            "it is the target",
            id="the target as weight",
        ),
        pytest.param(
            {"a": "vector", "grid": "image", "label": "label"},
            {"inputs": ["a"], "sample_weight": "grid"},
            ConfigError,
            "it is not a number",
            id="an image as weight",
        ),
        pytest.param(
            {"a": "float", "label": "label"},
            {"sample_weight": "w"},
            UnknownNameError,
            "no number per record, for --sample-weight, 'w'; there is: a",
            id="no such weight",
        ),
        pytest.param(
            {"a": "float", "label": "label"},
            {"settings": Settings(lengths={"a": 3})},
            UnknownNameError,
            "--pad, 'a'",
            id="a number is not padded",
        ),
        pytest.param(
            {"a": "float", "label": "label"},
            {"settings": Settings(image_model="MobileNetV2")},
            ConfigError,
            "--model MobileNetV2 .* needs an image",
            id="a model for images",
        ),
    ],
)
def test_what_does_not_suit(choose, declared, options, error, message):
    with pytest.raises(error, match=message):
        choose(declared, **options)
