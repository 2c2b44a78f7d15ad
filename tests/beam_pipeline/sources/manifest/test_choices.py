import pytest

from beam_pipeline.records import ClassLabel, ClassLabels
from beam_pipeline.sources.manifest.choices import only_column, separator_of
from beam_pipeline.sources.manifest.read import ReadCsv


@pytest.mark.parametrize(
    ("name", "values", "separator"),
    [
        pytest.param("label", ["cat", "cat|dog"], "|", id="a bar, whatever the name"),
        pytest.param("tags", ["haze primary", "clear primary water"], " ", id="shared words"),
        pytest.param("label", ["haze primary", "clear primary water"], "", id="one class"),
        pytest.param("labels", ["red fox", "sea lion"], "", id="words of one value each"),
        pytest.param("labels", ["red fox", "red panda"], "", id="as many words in each"),
        pytest.param("labels", ["a a", "a"], "", id="a word twice"),
        pytest.param("movie genres", ["Comedy, Drama", "Drama"], ",", id="commas"),
        pytest.param("Class_Labels", ["a;b", "b", "c"], ";", id="semicolons"),
        pytest.param("labels", [], "", id="nothing"),
    ],
)
def test_what_is_between_classes(name, values, separator):
    assert separator_of(name, values) == separator


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        pytest.param("breed", ["boston bull", "dingo"], "breed", id="words"),
        pytest.param("level", list(map(str, range(5))), "level", id="a few numbers"),
        pytest.param("age_days", list(map(str, range(30))), "", id="many numbers"),
        pytest.param("price", ["12000", "900"], "", id="large numbers"),
        pytest.param("note", ["the quick brown fox jumps over"], "", id="sentences"),
        pytest.param("Caption", ["a dog"], "", id="a caption"),
        pytest.param("empty", [], "", id="nothing"),
    ],
)
def test_the_only_column_beside_the_files(name, values, found):
    assert only_column([name], {name: values}) == found
    assert only_column([name, "other"], {name: values}) == ""


@pytest.mark.parametrize(
    ("late", "classes", "rejected"),
    [
        pytest.param(
            ["a.jpg,2,0", "a.jpg,,1"],
            {ClassLabel("cat"), ClassLabel("dog")},
            [("m.csv:153", "missing value"), ("m.csv:154", "missing value")],
            id="no marks",
        ),
        pytest.param(
            ["a.jpg,1,1"],
            {ClassLabels(("cat",)), ClassLabels(("dog",)), ClassLabels(("cat", "dog"))},
            [],
            id="two classes make all rows lists",
        ),
    ],
)
def test_rows_behind_the_first(tmp_path, read_manifest, by_name, late, classes, rejected):
    (tmp_path / "a.jpg").touch()
    rows = ["image,cat,dog", "a.jpg,1,0", *["a.jpg,0,1"] * 150, *late]
    (tmp_path / "m.csv").write_text("\n".join(rows))
    records, rejects = by_name(read_manifest(ReadCsv(str(tmp_path / "m.csv"))))
    assert {record.features["label"] for record in records.values()} == classes
    assert [(source, each.reason) for source, each in rejects.items()] == rejected
