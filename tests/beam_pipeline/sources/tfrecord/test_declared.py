"""A declared schema matches the keys in Examples of other programs."""

import re

import pytest
import yaml

import beam_pipeline
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.images import ImageOptions
from beam_pipeline.schema.declaration import parse_schema
from beam_pipeline.sources.layout import Rank
from beam_pipeline.sources.tfrecord.read_tfrecords import (
    claim_tfrecords,
    refuse_conversions,
    with_key_of,
)
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed


def only(entry):
    (feature,) = parse_schema([entry])
    return feature


SIDES = "image/object/bbox/xmin"
# `declared; keys of the first records -> the key to read`, bare unless it has all further keys of
# this project's images.
KEYS = """
{name: image, kind: image}; image -> bare image
{name: image, kind: image, key: image_raw}; image_raw image -> bare image_raw
{name: image, kind: image}; image/encoded image/format -> bare image/encoded
{name: image, kind: image}; OURS -> image/encoded
{name: label, kind: class_label}; image/class/label -> bare image/class/label
{name: label, kind: class_label}; label label/label -> bare label/label
{name: x, kind: scalar, dtype: int64}; x -> bare x
{name: tags, kind: sequence, dtype: string}; x -> bare tags
{name: boxes, kind: boxes}; boxes -> bare boxes flat
{name: boxes, kind: boxes}; SIDES image/object/bbox/ymax -> image/object
{name: boxes, kind: boxes}; SIDES image/object/class/label -> bare image/object
{name: boxes, kind: boxes}; SIDES image/object/class/text -> image/object
{name: boxes, kind: boxes}; SIDES image/object/class/label image/object/class/text -> image/object
"""
OURS = ("encoded", "format", "filename", "source_id", "key/sha256", "height", "width")


@pytest.mark.parametrize("row", KEYS.strip().splitlines())
def test_keys(row):
    entry, keys, expected = re.split("; | -> ", row)
    keys = keys.replace("OURS", " ".join(f"image/{part}" for part in OURS))
    found = with_key_of(only(yaml.safe_load(entry)), keys.replace("SIDES", SIDES).split())
    is_flat = found.encoding == "flat"
    assert f"{'bare ' * found.bare}{found.key}{' flat' * is_flat}" == expected


def test_a_key_that_is_not_there():
    with pytest.raises(ConfigError, match="did you mean 'labels'"):
        with_key_of(only({"name": "label", "kind": "class_label"}), ["image", "labels"])


def test_a_configuration_is_settled(tmp_path):
    (tmp_path / "a.tfrecord").write_bytes(framed(encode({"n": [1]})))
    schema = parse_schema({"n": {"kind": "scalar", "dtype": "int64"}})
    config = BuildConfig(input=str(tmp_path), schema=schema)

    tree = Tree.of(str(tmp_path))
    assert claim_tfrecords(tree, config).options["schema"][0].key == "n"
    assert claim_tfrecords(tree, BuildConfig(input=str(tmp_path))).options == {}


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


@pytest.fixture
def pets(tmp_path):
    """A dataset built from a table."""
    (tmp_path / "pets.csv").write_text("size,label,split\n1,cat,train\n2,dog,train\n3,cat,test\n")
    return beam_pipeline.build(input=str(tmp_path / "pets.csv"), output=str(tmp_path / "data"))


def names_and_classes(info):
    return [(each.name, each.classes) for each in info.schema]


def test_a_dataset_is_read_with_the_features_that_its_build_described(pets, tmp_path):
    beam_pipeline.write_report(pets.path)  # its report.json has "images", as COCO's files

    again = beam_pipeline.build(input=str(tmp_path / "data"), output=str(tmp_path / "again"))

    assert names_and_classes(again) == names_and_classes(pets)
    assert (again.num_records("train"), again.num_records("test")) == (2, 1)
    assert again.metadata["rejected"] == {}
    beam_pipeline.build(input=pets.path, output=str(tmp_path / "data"), version="1.0.1")
    with pytest.raises(ConfigError, match=r"several datasets \(pets/1.0.0, pets/1.0.1\); name one"):
        beam_pipeline.plan(input=str(tmp_path / "data"))


def test_a_dataset_below_other_data_is_not_what_is_read(pets, tmp_path):
    (tmp_path / "data/cats.csv").write_text("size,label\n1,cat\n2,dog\n")
    tree = Tree.of(str(tmp_path / "data"))
    claim = claim_tfrecords(tree, BuildConfig(input=str(tmp_path / "data")))
    assert claim.rank < Rank.DATASET


def test_adopted_files_are_read_with_their_features(tmp_path):
    (tmp_path / "in").mkdir()
    for split in ("test", "train"):  # not usual names of TFRecord files
        data = b"".join(framed(encode({"label": [number % 2]})) for number in range(4))
        (tmp_path / f"in/{split}-00000-of-00001").write_bytes(data)
    adopted = beam_pipeline.adopt(tmp_path / "in", classes=("cat", "dog"))
    again = beam_pipeline.build(
        input=str(tmp_path / "in"), output=str(tmp_path / "out"), leaks="warn"
    )
    assert names_and_classes(again) == names_and_classes(adopted)
    assert sum(map(again.num_records, again.splits)) == 8
