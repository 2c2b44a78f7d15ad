"""Values of the command line, and the messages where they cannot be read."""

import argparse

import pytest

from beam_pipeline.cli import option_values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4096", 4096),
        ("128MiB", 128 << 20),
        ("128 mib", 128 << 20),
        ("1GB", 10**9),
        ("1.5gb", 1_500_000_000),
        ("64M", 64 << 20),
        ("2TiB", 2 << 40),
        ("10b", 10),
    ],
)
def test_parse_bytes(text, expected):
    assert option_values.parse_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "big", "1.2.3MB", "-5MB", "5 apples", ".", "MiB"])
def test_not_a_size(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size; write it as 128MiB"):
        option_values.parse_bytes(text)


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (option_values.parse_fractions, "train=0.8, test=0.2", {"train": 0.8, "test": 0.2}),
        (option_values.parse_fractions, "all=1", {"all": 1.0}),
        (option_values.parse_shards, "8", 8),
        (option_values.parse_shards, "train=8,test=1", {"train": 8, "test": 1}),
        (option_values.parse_size, "224", (224, 224)),
        (option_values.parse_size, "640x480", (640, 480)),
        (option_values.parse_names, "a, b,", ("a", "b")),
        (option_values.parse_classes, "cat,dog", ("cat", "dog")),
    ],
)
def test_parse(parse, text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (option_values.parse_fractions, "train", "write it as train=0.8"),
        (option_values.parse_classes, "nosuch/names", "there is no file 'nosuch/names'"),
        (option_values.parse_classes, "names.txt", "there is no file 'names.txt'"),
        (option_values.parse_fractions, "train=most", "write it as"),
        (option_values.parse_fractions, "train=0.8.1", "write it as"),
        (option_values.parse_fractions, "train=0.8,", "write it as"),
        (option_values.parse_fractions, "a=0.5,a=0.5", "names a split twice"),
        (option_values.parse_shards, "train=1.5", "write it as 8 or train=8,test=1"),
        (option_values.parse_shards, "few", "write it as 8 or train=8,test=1"),
        (option_values.parse_size, "640*480", "is not a size"),
    ],
)
def test_unreadable_values(parse, text, message):
    with pytest.raises(argparse.ArgumentTypeError, match=message):
        parse(text)


def test_classes_from_a_file(tmp_path):
    path = tmp_path / "classes.txt"
    path.write_text("red cell\n\nweiße Zelle\n", encoding="utf-8")
    assert option_values.parse_classes(str(path)) == ("red cell", "weiße Zelle")
    path.write_text("red cell", encoding="utf-8-sig")
    assert option_values.parse_classes(str(path)) == ("red cell",)
    path.write_bytes(b"wei\xdfe Zelle")
    with pytest.raises(argparse.ArgumentTypeError, match="is not UTF-8"):
        option_values.parse_classes(str(path))
