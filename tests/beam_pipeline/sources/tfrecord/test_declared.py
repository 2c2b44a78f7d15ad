"""A declared schema finds the keys that other people's Examples have."""

import pytest

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.image_options import ImageOptions
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.tfrecord.read import (
    complete_with_keys,
    refuse_conversions,
    with_key_of,
)
from tfrecord_dataset.example import encode
from tfrecord_dataset.frames import framed


def only(entry):
    (feature,) = parse_schema([entry])
    return feature


OURS = ("encoded", "format", "filename", "source_id", "key/sha256", "height", "width")
FLAT = {"name": "boxes", "kind": "boxes"}


@pytest.mark.parametrize(
    ("entry", "keys", "key", "bare"),
    [
        pytest.param({"name": "image", "kind": "image"}, ["image"], "image", True, id="its name"),
        pytest.param(
            {"name": "image", "kind": "image", "key": "image_raw"},
            ["image_raw", "image"],
            "image_raw",
            True,
            id="a stated key",
        ),
        pytest.param(
            {"name": "image", "kind": "image"},
            [f"image/{part}" for part in OURS],
            "image/encoded",
            False,
            id="as this project writes it",
        ),
        pytest.param(
            {"name": "image", "kind": "image"},
            ["image/encoded", "image/format"],
            "image/encoded",
            True,
            id="as others write it",
        ),
        pytest.param(
            {"name": "label", "kind": "class_label"},
            ["image/class/label"],
            "image/class/label",
            True,
            id="an image's label",
        ),
        pytest.param(
            {"name": "label", "kind": "class_label"}, ["label", "label/label"], "label/label", True,
            id="a default key goes first",
        ),
        pytest.param(
            {"name": "x", "kind": "scalar", "dtype": "int64"}, ["x"], "x", True,
            id="a scalar",
        ),
        pytest.param(
            {"name": "tags", "kind": "sequence", "dtype": "string"}, ["x"], "tags", True,
            id="a list that the first records lack",
        ),
    ],
)  # fmt: skip
def test_keys(entry, keys, key, bare):
    found = with_key_of(only(entry), keys)
    assert (found.key, found.bare) == (key, bare)


def test_boxes_in_one_list_are_flat():
    found = with_key_of(only(FLAT), ["boxes"])
    assert (found.key, found.encoding, found.bare) == ("boxes", "flat", True)


def test_boxes_in_a_list_a_side():
    found = with_key_of(only(FLAT), [f"image/object/bbox/{side}" for side in ("xmin", "ymax")])
    assert (found.key, found.encoding) == ("image/object", "")


@pytest.mark.parametrize(
    ("beside", "bare"),
    [((), False), (("label", "text"), False), (("label",), True), (("text",), False)],
)
def test_classes_of_boxes_without_their_names(beside, bare):
    keys = ["image/object/bbox/xmin", *(f"image/object/class/{each}" for each in beside)]
    assert with_key_of(only(FLAT), keys).bare is bare


def test_a_key_that_is_not_there():
    with pytest.raises(ConfigError, match="did you mean 'labels'"):
        with_key_of(only({"name": "label", "kind": "class_label"}), ["image", "labels"])


def test_a_configuration_is_settled(tmp_path):
    (tmp_path / "a.tfrecord").write_bytes(framed(encode({"n": [1]})))
    schema = parse_schema({"n": {"kind": "scalar", "dtype": "int64"}})
    config = BuildConfig(input=str(tmp_path), schema=schema)

    assert complete_with_keys(config, str(tmp_path)).schema[0].key == "n"
    assert complete_with_keys(BuildConfig(input=str(tmp_path)), str(tmp_path)).schema == ()


@pytest.mark.parametrize(
    ("option", "asked"),
    [
        ("--image-size", {"image": ImageOptions(size=(8, 8))}),
        ("--image-max-side", {"image": ImageOptions(max_side=8)}),
        ("--image-format", {"image": ImageOptions(format="png")}),
        ("--audio-sample-rate", {"audio": AudioOptions(sample_rate=8000)}),
        ("--audio-mono", {"audio": AudioOptions(mono=True)}),
    ],
)
def test_conversions_are_refused(option, asked):
    with pytest.raises(ConfigError, match=f"{option} converts"):
        refuse_conversions(BuildConfig(input="in", **asked))
