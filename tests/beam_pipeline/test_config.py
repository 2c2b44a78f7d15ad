"""Every option is checked once, with a message about the problem."""

import dataclasses
import os
from pathlib import Path
from typing import Annotated

import apache_beam as beam
import pytest

import beam_pipeline
from beam_pipeline import option_values
from beam_pipeline.build_options import BuildOption
from beam_pipeline.config import BuildConfig, default_name
from beam_pipeline.errors import ConfigError
from beam_pipeline.media.images import ImageOptions
from beam_pipeline.pipeline import checked_arguments
from tfrecord_dataset.image_size import ImageSize


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"input": "/in\udcff"}, r"input: '/in\\udcff' .*not UTF-8", id="input"),
        pytest.param({"split": {}}, r"^split \(--split\): {} .*name splits", id="no split"),
        pytest.param({"split": 0.5}, r"^split \(--split\): 0.5 .*fractions by", id="no names"),
        pytest.param({"split": {"train": 10**400}}, "positive fractions", id="a large number"),
        pytest.param(
            {"layout": "cooc", "compression": "gzp", "seed": 1.5},
            r"^unknown layout \(--layout\) 'cooc' \(did you mean 'coco'\?\); choose from: auto, "
            r".*; and seed \(--seed\): 1.5 is not a whole number.*; and unknown compression "
            r"\(--compression\) 'gzp' \(did you mean 'gzip'\?\)",
            id="all at once",
        ),
        pytest.param(
            {"split_list": ["a.txt", "b.txt"], "num_shards": 0},
            r"'a.txt' does not exist .*; and .*'b.txt' does not exist .*; "
            r"and num_shards \(--num-shards\): 0 .*",
            id="files with the rest",
        ),
    ],
)
def test_what_no_command_line_says_is_refused_too(options, message):
    with pytest.raises(ConfigError, match=message):
        BuildConfig(**{"name": "fine", **options})


def test_fractions_that_sum_to_one_in_decimals_are_fine():
    BuildConfig(name="fine", split={"train": 0.7, "validation": 0.2, "test": 0.1})


def test_paths_are_made_absolute_but_remote_ones_stay():
    config = BuildConfig(input="photos", output=Path("data"), image_root="gs://bucket/images")

    assert config.input == os.path.abspath("photos")
    assert config.dataset_dir == os.path.abspath("data/photos/1.0.0")
    assert config.image_root == "gs://bucket/images"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/data/Blood Cells/", "blood_cells"),
        ("annotations.coco.json", "annotations_coco"),
        ("labels.csv", "labels"),
        ("mnist.npz", "mnist"),
        ("wine.parquet", "wine"),
        ("shards/train-*.tar", "train"),
        ("/data/2024", "dataset_2024"),
        ("/data/pets/1.0.0", "pets"),
        ("", "dataset"),
        ("日本", "dataset"),
    ],
)
def test_default_name(path, name):
    assert default_name(path) == name
    assert BuildConfig(name=default_name(path)).name == name


SPLITS = {"split": {"a": 0.5, "b": 0.5}}


@pytest.mark.parametrize(
    ("options", "is_content"),
    [
        *(
            pytest.param({name: value}, is_content, id=name)
            for is_content, options in (
                (False, {"input": "elsewhere", "output": "elsewhere", "image_root": "elsewhere"}),
                (False, {"overwrite": True, "leaks": "warn", "threads": 4}),
                (True, {"seed": 1, "version": "1.0.1", "num_shards": 2, "classes": ("b", "a")}),
                (
                    True,
                    {"compression": "gzip", "max_bad_fraction": 0.5, "missing_numbers": "reject"},
                ),
            )
            for name, value in options.items()
        ),
        pytest.param({"split": {"a": 0.6, "b": 0.4}}, True, id="split"),
        pytest.param({"split": {"b": 0.5, "a": 0.5}}, True, id="the order of splits"),
    ],
)
def test_what_decides_content_is_part_of_the_fingerprint(options, is_content):
    """Locations and speed are not; the order of splits determines the records' splits."""
    plain = BuildConfig(name="a", **SPLITS)
    other = BuildConfig(name="a", **{**SPLITS, **options})
    assert (other.fingerprint != plain.fingerprint) == is_content


@pytest.mark.parametrize(
    ("options", "fingerprint"),
    [
        pytest.param(
            {}, "751ed69a3286e63ae9262cd3840a8103f420a269126ca20f8b57396a74f98441", id="defaults"
        ),
        pytest.param(
            {
                "split": {"train": 0.8, "test": 0.2},
                "duplicates": "drop",
                "masks": True,
                "missing_values": ("?",),
                "image": ImageOptions(size=(30, 40), depth_scale=0.001),
            },
            "29e68d6bb72c9dd4b2da46e4450170bca57380e85a328a2c2d99be9dfcefd193",
            id="options of every age",
        ),
    ],
)
def test_fingerprints_stay(options, fingerprint):
    """Another one would build a dataset again, and continue no interrupted build."""
    config = BuildConfig(input="here/cells.csv", output="data", name="golden", seed=3, **options)
    assert config.fingerprint == fingerprint


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class LaterConfig(BuildConfig):
    """With a new option of a build."""

    further: Annotated[str, BuildOption("a further choice")] = "none"


def test_an_option_that_is_not_set_changes_no_fingerprint():
    later = LaterConfig(name="a", seed=3)
    assert later.fingerprint == BuildConfig(name="a", seed=3).fingerprint
    assert dataclasses.replace(later, further="some").fingerprint != later.fingerprint


def test_a_size_is_fingerprinted_as_ever_with_the_width_first():
    config = BuildConfig(name="a", image=ImageOptions(size=(30, 40)))

    assert config.image.size == ImageSize(height=30, width=40)
    assert config.fingerprinted_options()["image"]["size"] == [40, 30]


@pytest.mark.parametrize("function", [beam_pipeline.build, beam_pipeline.plan])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["photos"], "^config='photos' is not a BuildConfig; give Bui"),
        ([BuildConfig(), {"runner": "x"}], "^options={.*} is not a PipelineOptions"),
        ([BuildConfig(), None, beam.Create], "^source=.* is not a PTransform; give an obj"),
    ],
)
def test_what_a_build_cannot_take(function, arguments, message):
    with pytest.raises(ConfigError, match=message):
        function(*arguments)


def test_settings_are_a_config_or_change_one():
    config = BuildConfig(input="photos", output="data")

    found, _ = checked_arguments(None, None, None, {"input": "photos", "output": "data"})
    changed, _ = checked_arguments(config, None, None, {"num_shards": 2})
    assert found == config
    assert changed == BuildConfig(input="photos", output="data", num_shards=2)
    with pytest.raises(ConfigError, match=r"^unknown option num_shard \(did you mean 'num_shards'"):
        beam_pipeline.build(config, num_shard=2)


def test_classes_from_a_file(tmp_path):
    path = tmp_path / "classes.txt"
    path.write_text("red cell\n\nweiße Zelle\n", encoding="utf-8")
    assert option_values.parse_classes(str(path)) == ("red cell", "weiße Zelle")
    path.write_text("red cell", encoding="utf-8-sig")
    assert option_values.parse_classes(str(path)) == ("red cell",)
    path.write_bytes(b"wei\xdfe Zelle")
    with pytest.raises(ValueError, match="is not UTF-8"):
        option_values.parse_classes(str(path))
