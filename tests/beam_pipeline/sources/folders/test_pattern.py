"""Values that `--path-pattern` finds in paths, and invalid patterns."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.folders.pattern import parse_pattern


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("{label}_{speaker}_{index}", "7_theo_3.wav", ("7", "theo", "3")),
        ("{label}_{speaker}_{index}", "a/b/7_theo_3.wav", ("7", "theo", "3")),
        ("{label}_{speaker}_{index}", "7_theo_big_3.wav", ("7", "theo", "big_3")),
        ("{label}_{speaker}_{index}", "7_theo.wav", None),
        ("{label}_{speaker}_{index}", "7__3.wav", None),
        ("{a}", "x.y.jpg", ("x.y",)),
        ("{a}.{b}", "x.y.jpg", ("x", "y")),
        ("{label}/{_}", "cat/1.jpg", ("cat",)),
        ("{label}/{_}", "cat/in/1.jpg", None),
        ("{label}/{_}", "1.jpg", None),
        ("{_}/{label}-{_}", "x/cat-1.jpg", ("cat",)),
        ("img_{n}", "img_12.jpg", ("12",)),
        ("img_{n}", "IMG_12.jpg", None),
        ("a+({n})", "a+(5).jpg", ("5",)),
        ("{{{n}}}", "{5}.jpg", ("5",)),
        ("{größe} {n}", "klein 2.jpg", ("klein", "2")),
        ("{n}", "a\nb.jpg", ("a\nb",)),
        ("{a}{b}", "xyz.jpg", ("x", "yz")),
        ("{a}-{b}-z", "x-y-z-z.jpg", ("x", "y-z")),
        ("{a}aa{b}", "xaaaa.jpg", ("x", "aa")),
        ("{label}/**/{_}", "cat/1.jpg", ("cat",)),
        ("{label}/**/{_}", "cat/a/b/1.jpg", ("cat",)),
        ("**/{label}/{_}", "a/b/cat/1.jpg", ("cat",)),
        ("**/x/**/{n}", "a/x/b/x/1.jpg", ("1",)),
        ("**/x/**/{n}", "a/b/1.jpg", None),
    ],
)
def test_match(pattern, path, found):
    assert parse_pattern(pattern).match(path) == found


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        *((text, "it has no names; write it as") for text in ("", "*.wav", "{_}")),
        ("{a}_{b}_{a}", "{a} occurs twice"),
        *((f"{{{name}}}_{{n}}", f"{{{name}}} is what the") for name in ("image", "audio", "boxes")),
        *((f"{{{name}}}", f"{{{name}}} is not a name") for name in ("", "0", "a-b", "a b", "n.x")),
        ("{n:d}", "{n} is not a name"),
        ("{n!r}", "{n} is not a name"),
        ("{n", "cannot be used: expected '}'"),
        ("n}", "cannot be used: Single '}'"),
    ],
)
def test_what_is_not_a_pattern(pattern, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        parse_pattern(pattern)


def test_a_pattern_never_goes_back():
    names = "".join(f"{{{letter}}}_" for letter in "abcdefghijklmnop")
    assert parse_pattern(f"{names}x").match("_" * 4000 + ".jpg") is None
    folders = "**/{a}/" + "**/{_}/" * 8 + "x"
    assert parse_pattern(folders).match("a/" * 2000 + "y.jpg") is None


PIECES = st.lists(st.sampled_from(["{}", "a", "b", "/"]), max_size=3)


@settings(deadline=None)
@given(PIECES, PIECES, PIECES, st.text("ab/", max_size=9))
def test_a_pattern_finds_what_its_regular_expression_does(one, two, three, path):
    pieces = [*one, "{}", *two, "/", *three]
    named = [piece.replace("{}", f"{{n{number}}}") for number, piece in enumerate(pieces)]
    expression = "".join("([^/]+?)" if piece == "{}" else piece for piece in pieces)
    found = re.fullmatch(expression, path)
    assert parse_pattern("".join(named)).match(f"{path}.jpg") == (found and found.groups())
