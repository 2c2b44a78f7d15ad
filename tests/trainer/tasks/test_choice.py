"""Choice of inputs and target by schema or options; unsuitable schemas and options.

A row is `features | options -> choice` or `-> message`, with features in the syntax of `declare`;
long rows continue in the next line, indented.
"""

import re

import pytest
from kinds_of_learning import training

from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError
from trainer.tasks.choice import choose_task

# Task: inputs -> kind of the target.
CHOSEN = """
i=image l=label -> classification: i -> class
image metadata=vector label age=integer c=text -> image_metadata: image metadata -> class
image counts label -> classification: image -> class
image mask=image label sex=label -> classification: image -> class
image boxes age=float v=vector -> detection: image -> boxes
image boxes label -> classification: image -> class
image map depth=depth-map age=float -> segmentation: image -> map
image boxes map -> detection: image -> boxes
audio label speaker=text index=integer -> audio_classification: audio -> class
s=ids label=unknown-label -> sequence_classification: s -> class
s=series label -> sequence_classification: s -> class
t=text label -> text_classification: t -> class
x=grid y=integer -> array_classification: x -> class
a=integer b=float v=vector n=blob target=integer -> tabular_classification: a b v -> class
a=integer y=float -> regression: a -> numbers
i=image y=float -> regression: i -> numbers
a=float y=vector -> regression: a -> numbers
image label=labels -> classification: image -> classes
a=float y=counts -> tabular_classification: a -> multi_hot
a=float target=name -> tabular_classification: a -> class
tags=words tokens=ids label -> sequence_classification: tokens -> class
audio speaker_id=integer timestamp=float | target=speaker_id
  -> audio_classification: audio -> class
audio speaker_id=integer | target=speaker_id task=regression -> regression: audio -> numbers
a=float rings=unknown-label | task=regression -> regression: a -> numbers
image age=integer sex=label label | inputs=image,age,sex -> image_metadata: image age sex -> class
image age=integer label | inputs=age -> tabular_classification: age -> class
image v=vector label | inputs=image -> classification: image -> class
t=text a=float v=vector label | inputs=a,v -> tabular_classification: a v -> class
a=float weight=float label | sample_weight=weight -> tabular_classification: a -> class
image label sex=label | target=sex -> classification: image -> class
image label boxes | target=boxes -> detection: image -> boxes
a=float y=vector | task=classification -> tabular_classification: a -> multi_hot
a=float species=text | target=species -> tabular_classification: a -> class
image boxes map label y=float | task=segmentation -> segmentation: image -> map
image boxes map label y=float | task=detection -> detection: image -> boxes
image boxes map label y=float | task=classification -> classification: image -> class
image boxes map label y=float | task=regression target=y -> regression: image -> numbers
image label other=map map | task=segmentation target=other -> segmentation: image -> map
a=float y=integer | task=regression -> regression: a -> numbers
"""
# Regular expressions.
REFUSED = r"""
image b=blob -> no task suits .*b \(bytes\)
image boxes | target=boxes task=classification
  -> the target boxes \(boxes\): --task classification does not suit it; choose another
image age=float boxes | inputs=image,age
  -> detection learns from one image, but the inputs are image, age
image label | task=segmentation
  -> --task segmentation does not suit the dataset's features: image .image., label .class
image boxes | task=segmentation
  -> boxes .boxes.; .* train on another dataset
image map label | task=segmentation target=label
  -> --task segmentation does not suit it; choose another
image first=map second=map | task=segmentation
  -> no task suits .*first .map., second .map.; .* choose the target with --target
image map=map-without-classes
  -> the map 'map' has no class names, which segmentation needs; declare them by --schema
image map=depth-map | target=map
  -> the target map .map.: no task learns it; choose another with --target
image age=float map | inputs=image,age
  -> segmentation learns from one image, but the inputs are image, age
text cats=boxes dogs=boxes | target=cats -> there is no input of kind 'image'
image cats=boxes dogs=boxes -> choose the target with --target
a=integer b=text c=integer d=integer e=integer f=integer g=integer price=float
  -> named label, target or y; choose the target with --target: price, a, b, c, d, e, f, g$
label b=blob -> b \(bytes\)
image sex=label age=label -> choose one with --target
image sex=label age=label | target=aeg -> unknown .*did you mean 'age'
left=image right=image label -> several features of kind 'image'.*by --inputs$
city=text job=text age=float label -> by --inputs, such as all numbers: --inputs age$
a=float y=float | target=y task=classification
  -> target y .scalar of float32.: --task classification does not suit it
a=float tags=ids | target=tags -> declare a class_label, with shape \[null\]
a=float t=text | target=t task=regression -> --task regression does not suit it
a=nothing label -> there is no input
a=float y=nothing -> no task learns it
audio=slow-audio label -> 20 samples per second, but .*; store it as a sequence of numbers
a=float label | inputs=b -> unknown .*'b'.*choose from: a, label
a=float label | inputs=a,label -> 'label', which is the target
a=float label | inputs=a,a -> named twice
a=float b=blob label | inputs=b -> models cannot take b
a/b=float a_b=float label -> both named 'a_b' in Keras
a=float t=text other=label label | inputs=a sample_weight=t
  -> unknown number per record, for --sample-weight, 't'; choose from: a
a=float label=integer | sample_weight=label -> unknown number per record
a=float label | sample_weight=w -> unknown number per record
a=float label | pad=a -> unknown .*--pad, 'a'
"""


def rows(table):
    return [re.sub(r"\n +", " ", row) for row in re.split(r"\n(?! )", table.strip())]


def parsed(row):
    """Parse features, arguments of `choose`, and the text after the first arrow."""
    asked, expected = row.split(" -> ", 1)
    declared, _, options = asked.partition(" | ")
    given = dict(each.split("=") for each in options.split())
    given |= {name: {given[name]: 3} for name in {"pad"} & given.keys()}
    given |= {name: given[name].split(",") for name in {"inputs"} & given.keys()}
    return declared, given, expected


@pytest.mark.parametrize("row", rows(CHOSEN))
def test_what_is_chosen(choose, row):
    declared, options, expected = parsed(row)
    task, reason = choose(declared, **options)

    inputs = [each.name for each in task.inputs.values()]
    assert f"{task.name}: {' '.join(inputs)} -> {task.goal.kind}" == expected
    assert options.get("target", task.target) == task.target
    left_out = {each.partition("=")[0] for each in declared.split()}
    for name in left_out - {*inputs, task.target, task.sample_weight}:
        assert f"{name} (" in reason.partition("left out: ")[2]


@pytest.mark.parametrize("row", rows(REFUSED))
def test_what_does_not_suit(choose, row):
    declared, options, message = parsed(row)
    with pytest.raises(ConfigError, match=message):
        choose(declared, **options)


def test_a_number_that_a_whole_split_lacks_is_the_target(declare):
    features = declare("a=float b=float price=float")

    assert choose_task(features, training(), unknown=["price"])[0].target == "price"
    assert choose_task(features, training(target="a"), unknown=["price"])[0].target == "a"
    with pytest.raises(ConfigError, match="choose the target with --target: a, b, price"):
        choose_task(features, training(), unknown=["b", "price"])


def test_why_is_said(choose):
    _, reason = choose("image metadata=vector label c=text")

    assert reason == (
        "from image (image), metadata (tensor of float32) to label (class_label) of 2 classes; "
        "left out: c (text) (--inputs all adds columns)"
    )
    columns = " ".join(f"c{number}=float" for number in range(50))
    assert "c5 (scalar of float32), 44 more to label" in choose(f"{columns} label")[1]
    assert f"{'n' * 100}…" in choose(f"{'n' * 999}=float label")[1]
    assert "resampled to 16,000 Hz" in choose("audio=audio-of-any-rate label")[1]
    assert "resampled" not in choose("audio label")[1]


def test_names_that_keras_does_not_take_are_changed_for_the_model(choose):
    task, _ = choose("petal/length-in-cm{}=float y=integer")

    ((name, only),) = task.inputs.items()
    assert (name, only.name) == ("petal_length-in-cm__", "petal/length-in-cm{}")


def test_boxes_take_the_size_of_the_image_and_the_most_of_pad(choose):
    task, _ = choose("image boxes", image_size=ImageSize(64, 96), pad={"boxes": 7})

    assert (task.goal.height, task.goal.width, task.goal.pad_to) == (64, 96, 7)
    assert task.output_shape == (96 + 24 + 6, 1 + 5)


@pytest.mark.parametrize(
    ("kind", "classes", "channels", "options", "augment"),
    [
        pytest.param("class_label", ["cat", "dog"], 3, {}, "flip", id="photographs"),
        pytest.param("class_label", ["cat", "dog"], 3, {"augment": "none"}, "none", id="given"),
        pytest.param("class_label", ["cat", "dog"], 1, {}, "none", id="grey"),
        pytest.param("class_label", ["left_turn", "stop"], 3, {}, "none", id="left"),
        pytest.param("class_label", ["10", "11"], 3, {}, "none", id="numbers"),
        pytest.param("class_label", ["a", "b"], 3, {}, "none", id="letters"),
        pytest.param("boxes", ["cell"], 3, {}, "flip", id="boxes"),
        pytest.param("map", ["ground", "1"], 3, {}, "flip", id="maps"),
        pytest.param("map", ["ground", "left lung"], 3, {}, "none", id="sides"),
    ],
)
def test_images_are_mirrored_unless_their_classes_have_sides(
    kind, classes, channels, options, augment
):
    image = {"kind": "image", "shape": [32, 32, channels]}
    features = features_from_json({"image": image, "target": {"kind": kind, "classes": classes}})
    assert choose_task(features, training(**options))[0].augment == augment
