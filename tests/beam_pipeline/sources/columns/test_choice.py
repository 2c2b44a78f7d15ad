"""Which column plays which part: by its name, by what the first rows hold, or as told."""

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.columns.choice import pick_columns
from beam_pipeline.sources.columns.column import ColumnFacts, Media
from beam_pipeline.sources.columns.options import TableOptions


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


IMAGES = {"media": {"a": "image", "b": "image"}, "files": {"a", "b"}}


@pytest.mark.parametrize(
    ("names", "facts", "named", "media", "key"),
    [
        pytest.param("file_name", {}, {}, {"image": "file_name"}, "file_name", id="no suffix"),
        pytest.param(
            "file_name label",
            {"media": {"file_name": "audio"}}, {}, {"audio": "file_name"}, "file_name",
            id="Hugging Face's audio folder",
        ),
        pytest.param(
            "path label",
            {"media": {"path": "array"}}, {}, {"array": "path"}, "path", id="arrays",
        ),
        pytest.param(
            "image audio_path",
            {"media": {"image": "image", "audio_path": "audio"}}, {},
            {"image": "image", "audio": "audio_path"}, "image", id="image and sound",
        ),
        pytest.param(
            "image audio", {"media": {"image": "image"}}, {"ignore_columns": ["audio"]},
            {"image": "image"}, "image", id="ignored",
        ),
        pytest.param("recording label", {}, {}, {}, "", id="a sound's name, but text"),
        pytest.param(
            "image mask", {"media": {"image": "image", "mask": "image"}, "files": {"mask"}}, {},
            {"image": "image", "mask": "mask"}, "image", id="a second image that is there",
        ),
        pytest.param(
            "image was", {"media": {"image": "image", "was": "image"}}, {},
            {"image": "image"}, "image", id="only like an image",
        ),
        pytest.param(
            "scan x", {"media": {"scan": "image"}, "files": {"scan"}}, {},
            {"image": "scan"}, "scan", id="the only image",
        ),
        pytest.param("a b", IMAGES, {}, {"a": "a", "b": "b"}, "", id="none is the main one"),
        pytest.param(
            "a b", IMAGES, {"image_column": "b"}, {"image": "b", "a": "a"}, "b", id="told"
        ),
        pytest.param(
            "left right path",
            {
                "media": {"left": "audio", "right": "audio"},
                "files": {"left", "right"},
                "numbers": {"path"},
            },
            {"audio_column": "right"}, {"audio": "right", "left": "left"}, "right",
            id="told sound; numbers are no path",
        ),
        pytest.param(
            "wav path", {"media": {"wav": "audio"}}, {}, {"audio": "wav"}, "wav",
            id="a path of something beside a sound",
        ),
        pytest.param(
            "wav img", {"media": {"wav": "audio"}}, {}, {"image": "img", "audio": "wav"}, "img",
            id="an image's own name",
        ),
    ],
)  # fmt: skip
def test_columns_of_paths(names, facts, named, media, key):
    columns = pick(names, facts, **named)
    assert {each.feature: each.column for each in columns.media} == media
    assert columns.key == key


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
