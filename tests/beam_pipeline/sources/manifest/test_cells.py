"""What a user says of a manifest's values: which stand for none, and what makes an image's path."""

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.manifest.read import ReadCsv, ReadJsonl


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_values_that_are_missing(
    tmp_path, read_manifest, write, json_lines, records_by_key, rejects, others, form
):
    if form == "csv":
        text = "image,n,t,label\na.jpg,1,?,x\nb.jpg,NA,u,y\nc.jpg, ? ,v,NA\n"
        source = ReadCsv
    else:
        text = json_lines(
            {"image": "a.jpg", "n": 1, "t": "?", "label": "x"},
            {"image": "b.jpg", "n": "NA", "t": "u", "label": "y"},
            {"image": "c.jpg", "n": 3, "t": "v", "label": "NA"},
        )
        source = ReadJsonl
    path = write(tmp_path / f"m.{form}", text)

    elements = read_manifest(source(path, missing_values=("NA", "?"), missing_number=0.5))

    records = records_by_key(elements)
    assert {key: (r.features["n"], r.features["t"]) for key, r in records.items()} == {
        "a.jpg": (1, ""),
        "b.jpg": (0.5, "u"),
    }
    assert [reason for reason, _ in rejects(elements).values()] == ["missing value"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_paths_are_made_of_columns(
    tmp_path, read_manifest, write, json_lines, records_by_key, rejects, form
):
    if form == "csv":
        text, source = "id,part,label\n007,a,x\n12,b,y\n,b,y\n", ReadCsv
        ids = {"train/a/007.png": "007", "train/b/12.png": "12"}
    else:
        text, source = json_lines(*({"id": i, "part": "a"} for i in (7, 12, None))), ReadJsonl
        ids = {"train/a/7.png": 7, "train/a/12.png": 12}
    path = write(tmp_path / f"m.{form}", text)

    elements = read_manifest(source(path, image_template="train/{part}/{id}.png"))

    records = records_by_key(elements)
    assert {key: record.features["id"] for key, record in records.items()} == ids
    assert {record.features["image"].file.path for record in records.values()} == {
        f"{tmp_path}/{key}" for key in ids
    }
    assert list(rejects(elements)) == [f"m.{form}:{4 if form == 'csv' else 3}"]


def test_a_path_in_the_place_of_a_column(tmp_path, read_manifest, write, records_by_key):
    path = write(tmp_path / "m.csv", "image,x\n1," + "y" * 2000 + "\n")
    assert list(records_by_key(read_manifest(ReadCsv(path, image_template="{image}.png")))) == [
        "1.png"
    ]
    source = ReadCsv(path, image_template="{x}.png", image_column="image")
    with pytest.raises(ConfigError, match="there is a column 'image' already"):
        read_manifest(source)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{key}.png", r"'key' is not a column; there are 'id'.*"),
        ("images/1.png", "it names no column"),
        ("{id", "expected '}'"),
    ],
)
def test_what_is_no_template(tmp_path, read_manifest, write, template, message):
    path = write(tmp_path / "m.csv", "id,label\n1,x\n")
    with pytest.raises(ConfigError, match=rf"--image-template .* cannot be used: .*{message}"):
        read_manifest(ReadCsv(path, image_template=template))
