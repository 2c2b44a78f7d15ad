"""Records as text, and which of them are shown."""

import pytest

from beam_pipeline import commands
from beam_pipeline.show import as_text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        pytest.param([b"cat"], "cat", id="text"),
        pytest.param([b"\xff\xd8"], "<2 bytes>", id="binary"),
        pytest.param([b"x" * 81], "<81 bytes>", id="long text"),
        pytest.param([3], "3", id="one number"),
        pytest.param([0.123456], "0.1235", id="a fraction"),
        pytest.param([], "[]", id="nothing"),
        pytest.param([1, 2], "[1, 2]", id="numbers"),
        pytest.param(list(range(10)), "[0, 1, 2, 3, 4, 5, 6, 7 … 10 values]", id="many numbers"),
    ],
)
def test_as_text(values, text):
    assert as_text({"key": values}) == f"key  {text}"


def test_keys_are_aligned():
    assert as_text({"a": [1], "long": [2]}) == "a     1\nlong  2"
    assert as_text({}) == ""


@pytest.fixture(scope="module")
def directory(tmp_path_factory, class_folders):
    import beam_pipeline

    folder = tmp_path_factory.mktemp("show")
    for split in ("train", "test"):
        class_folders(folder / "pets" / split, each=3)
    config = beam_pipeline.BuildConfig(input=str(folder / "pets"), output=str(folder))
    return beam_pipeline.build(config).directory


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], {"test": 3, "train": 3}),
        (["--split", "test"], {"test": 3}),
        (["--limit", "1"], {"test": 1, "train": 1}),
        (["--limit", "99"], {"test": 6, "train": 6}),
        (["--limit", "0"], {}),
    ],
)
def test_which_are_shown(directory, capsys, options, shown):
    assert commands.main(["show", directory, *options]) == 0
    heads = [line[4:] for line in capsys.readouterr().out.splitlines() if line.startswith("--- ")]
    assert {split: heads.count(split) for split in dict.fromkeys(heads)} == shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split", "val"], "there is no split 'val'; there are test, train"),
        (["--limit", "-1"], "--limit -1"),
        (["--limits", "1"], "did you mean --limit?"),
    ],
)
def test_what_cannot_be_shown(directory, capsys, options, message):
    assert commands.main(["show", directory, *options]) == 2
    assert message in capsys.readouterr().err
