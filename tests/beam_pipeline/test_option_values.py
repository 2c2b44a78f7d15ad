"""Values of the command line, and the messages where they cannot be read."""

import pytest

from beam_pipeline import option_values


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (option_values.parse_fractions, "train=0.8, test=0.2", {"train": 0.8, "test": 0.2}),
        (option_values.parse_fractions, "all=1", {"all": 1.0}),
        (option_values.parse_shards, "8", 8),
        (option_values.parse_shards, "train=8,test=1", {"train": 8, "test": 1}),
        (option_values.parse_names, "a, b,", ("a", "b")),
        (option_values.parse_classes, "cat,dog", ("cat", "dog")),
    ],
)
def test_parse(parse, text, expected):
    assert parse(text) == expected


def test_classes_from_a_file(tmp_path):
    path = tmp_path / "classes.txt"
    path.write_text("red cell\n\nweiße Zelle\n", encoding="utf-8")
    assert option_values.parse_classes(str(path)) == ("red cell", "weiße Zelle")
    path.write_text("red cell", encoding="utf-8-sig")
    assert option_values.parse_classes(str(path)) == ("red cell",)
    path.write_bytes(b"wei\xdfe Zelle")
    with pytest.raises(ValueError, match="is not UTF-8"):
        option_values.parse_classes(str(path))
