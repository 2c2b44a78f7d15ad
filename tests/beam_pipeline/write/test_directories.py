"""A build refuses an output in its input, or an input that it would replace, before reading."""

import re

import pytest

from beam_pipeline import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.write.directories import check_apart

READS_ITS_OWN = "choose another --output or --name"
REPLACES_IT = "which the build replaces or deletes; choose another --output, --name or --version"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The root of local paths, outside the temporary directory."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/nowhere")
    for folder in ("data/images", "out/pets/1.0.0", "out/pets/.building-1.0.0/a"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "data/train.csv").write_text("a,b\n")
    (tmp_path / "link").symlink_to("data")
    (tmp_path / "data/to_out").symlink_to("../out")
    return str(tmp_path)


def configuration(place, source, output, **options):
    return BuildConfig(
        input=f"{place}/{source}", output=f"{place}/{output}", name="pets", **options
    )


@pytest.mark.parametrize("kind", ["local", "s3", "gs", "az"])
@pytest.mark.parametrize(
    ("source", "output", "message"),
    [
        ("data", "data", READS_ITS_OWN),
        ("data", "data/out", READS_ITS_OWN),
        ("data/", "data/new/folders", READS_ITS_OWN),
        ("out", "out", READS_ITS_OWN),
        ("out/pets", "out", READS_ITS_OWN),
        ("out/pets/1.0.0", "out", REPLACES_IT),
        ("out/pets/1.0.0/mine", "out", REPLACES_IT),
        ("out/pets/1.0.0/*.tfrecord*", "out", REPLACES_IT),
        ("out/pets/.building-1.0.0/a", "out", REPLACES_IT),
        ("data/**/*.csv", "data/out", READS_ITS_OWN),
        ("data/**", "data/out", READS_ITS_OWN),
        ("data/*/*/1.*/*.json", "data/out", READS_ITS_OWN),
        ("out/*/*/index/*.parquet", "out", READS_ITS_OWN),
    ],
)
def test_refused(place, kind, source, output, message):
    if kind != "local":
        place = f"{kind}://bucket/place"
        source = source.replace(".building-1.0.0", "1.0.0/.building")
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        check_apart(configuration(place, source, output))
    assert f"{place}/{source}".rstrip("/") in str(error.value)
    assert f"{place}/{output}/pets/" in str(error.value)


@pytest.mark.parametrize(
    ("source", "output", "message"),
    [
        ("link", "data/out", READS_ITS_OWN),
        ("data", "link/out", READS_ITS_OWN),
        ("data/to_out/pets/1.0.0", "out", REPLACES_IT),
        ("link/**/*.csv", "data/out", READS_ITS_OWN),
        ("data/to_out", "out", READS_ITS_OWN),
        ("data/../data", "data/./out", READS_ITS_OWN),
    ],
)
def test_links_hide_nothing(place, source, output, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        check_apart(configuration(place, source, output))


@pytest.mark.parametrize("kind", ["local", "s3"])
@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("data", "out"),
        ("data/images", "data/out"),
        ("data", "data-out"),
        ("data/train.csv", "data"),
        ("data/*.csv", "data"),
        ("data/*/*.csv", "data"),
        ("out/pets/0.9.0", "out"),
        ("out/cats", "out"),
        ("out/pets/0.*/*.tfrecord*", "out"),
    ],
)
def test_accepted(place, kind, source, output):
    check_apart(configuration(place if kind == "local" else "s3://bucket", source, output))


def test_other_inputs_are_not_replaced_either(place):
    mine = f"{place}/out/pets/1.0.0/mine"
    with pytest.raises(ConfigError, match=re.escape(f"the input {mine} is in")):
        check_apart(configuration(place, "data/train.csv", "out", image_root=mine))
    check_apart(configuration(place, "data/train.csv", "data/out", image_root=f"{place}/data"))


def test_the_temporary_directory(place, monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: f"{place}/data/tmp")
    with pytest.raises(ConfigError, match="choose another TMPDIR"):
        check_apart(configuration(place, "data", "out"))
    check_apart(configuration("s3://bucket", "data", "out"))
