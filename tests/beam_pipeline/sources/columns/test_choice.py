"""Which column plays which part: by its name, by what the first rows hold, or as told."""

import re

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.columns.choice import pick_columns
from beam_pipeline.sources.columns.column import ColumnFacts, Media, TableOptions


def pick(names, facts=None, **named):
    return pick_columns(names.split(), TableOptions(**named), ColumnFacts(**(facts or {})))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(
            "image label",
            {
                "key": "image",
                "media": (Media("image", "image", "image"),),
                "labels": (("label", "label"),),
            },
            id="plain",
        ),
        pytest.param(
            "Path FILENAME Class target SET",
            {"key": "FILENAME", "labels": (("label", "Class"),), "split": "SET"},
            id="the list's order, any case",
        ),
        pytest.param(
            "file x1 y1 x2 y2 width height label",
            {
                "corners": ("x1", "y1", "x2", "y2"),
                "size": ("width", "height"),
                "box_labels": "label",
                "labels": (),
            },
            id="corners",
        ),
        pytest.param(
            "file x y width height",
            {"corners": ("x", "y", "width", "height"), "size": None, "box_format": "xywh"},
            id="width of the box",
        ),
        pytest.param("file width height", {"corners": None, "size": None}, id="no boxes"),
        pytest.param("x y width height", {"corners": None, "key": "", "media": ()}, id="a table"),
    ],
)
def test_columns_by_name(names, expected):
    columns = pick(names)
    assert {name: getattr(columns, name) for name in expected} == expected


# `columns | what is known of them, and options -> the key's column: the column of each feature`.
# Of a column's first values `a:image` says that they are names of images, `a!image` that these are
# there.
OF_PATHS = """
file_name -> file_name: image=file_name
file_name label | file_name:audio -> file_name: audio=file_name
path label | path:array -> path: array=path
image audio_path | image:image audio_path:audio -> image: image=image audio=audio_path
image audio | image:image ignore_columns=audio -> image: image=image
recording label -> :
image mask | image:image mask!image -> image: image=image mask=mask
image was | image:image was:image -> image: image=image
scan x | scan!image -> scan: image=scan
a b | a!image b!image -> : a=a b=b
a b | a!image b!image image_column=b -> b: image=b a=a
l r path | l!audio r!audio path:number audio_column=r -> r: audio=r l=l
wav path | wav:audio -> wav: audio=wav
wav img | wav:audio -> img: image=img audio=wav
"""


@pytest.mark.parametrize("row", OF_PATHS.strip().splitlines())
def test_columns_of_paths(row):
    asked, expected = row.split(" -> ")
    names, _, known = asked.partition(" | ")
    told = [re.fullmatch(r"(\w+)([:!=])(\w+)", each).groups() for each in known.split()]
    kinds = {name: kind for name, sign, kind in told if sign != "="}
    numbers = {name for name, kind in kinds.items() if kind == "number"}
    facts = {"media": {name: kinds[name] for name in kinds.keys() - numbers}, "numbers": numbers}
    facts["files"] = {name for name, sign, _ in told if sign == "!"}
    named = {name: value for name, sign, value in told if sign == "="}

    columns = pick(names, facts, **named)
    media = " ".join(f"{each.feature}={each.column}" for each in columns.media)
    assert f"{columns.key}: {media}".strip() == expected


@pytest.mark.parametrize(
    ("names", "facts", "label", "labels"),
    [
        pytest.param("x target", {}, "", {"label": "target"}, id="by name"),
        pytest.param("x y", {}, "y", {"label": "y"}, id="told"),
        pytest.param("x a b", {}, "b, a", {"b": "b", "a": "a"}, id="several"),
        pytest.param("x a,b", {}, "a,b", {"label": "a,b"}, id="a comma in a name"),
        pytest.param("x target", {"no_classes": {"target"}}, "", {}, id="to predict"),
        pytest.param(
            "x label", {"lists": {"label"}, "no_classes": {"label"}}, "", {}, id="lists to predict"
        ),
        pytest.param("x labels", {"lists": {"labels"}}, "", {"label": "labels"}, id="lists"),
        pytest.param("x labels", {}, "", {"label": "labels"}, id="no lists"),
        pytest.param("x labels target", {}, "", {"label": "target"}, id="a surer name"),
        pytest.param("x", {}, "", {}, id="none"),
    ],
)
def test_columns_of_labels(names, facts, label, labels):
    assert dict(pick(names, facts, label_column=label).labels) == labels


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        ("image labl", {"label_column": "label"}, "--label-column 'label'.*did you mean 'labl'"),
        ("image a b", {"label_column": "a,c"}, "--label-column 'c'.*there are 'image', 'a', 'b'"),
        ("image", {"audio_column": "sound"}, "--audio-column 'sound' is not a column"),
        (
            "image",
            {"audio_column": "image", "image_column": "image"},
            "cannot hold images and audio",
        ),
        ("path image", {"image_column": "path"}, "'image' would take the place"),
        ("path label kind", {"label_column": "kind"}, "'label' would take the place"),
        ("path image/height", {}, "'image/height' would take the place of the feature 'image'"),
        ("path xmin ymin xmax ymax", {"box_format": "voc"}, "'voc' is none of xyxy, xywh"),
        ("path boxes xmin ymin xmax ymax", {}, "'boxes' would take the place"),
        (
            "path a b xmin ymin xmax ymax",
            {"label_column": "a,b"},
            "'a,b' names several .* one class",
        ),
    ],
)
def test_what_is_wrong_is_said(names, options, message):
    with pytest.raises(ConfigError, match=message):
        pick(names, **options)
