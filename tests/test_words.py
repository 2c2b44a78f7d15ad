"""Counts phrases that make prose hard to read; legitimate uses are listed.

Pages and folders of code that have been rewritten are in `_ALLOWED`.
"""

import io
import re
import tokenize
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.words

_ROOT = Path(__file__).parents[1]
_TURNS = {
    "told, says so": r"\b(?:is|are|was|be|been|being) told\b|\btold (?:by|to|of)\b|\bsays? so\b",
    "a file a line": r"\b(?:a|an|one) [a-z]+ an? [a-z]+(?=[,;:.)]|$)",
    "is no X": r"(?<!there )\b(?:is|are|was) no (?!longer|more|less)[a-z]+",
    "beside": r"(?<!-)\bbesides?\b(?!-)",
    "lie, lies": r"\b(?:lie|lies|lay|lying)\b",
    "X alone": r"\b[a-z]+ alone\b",
    ", where it": r", where (?:it|they|there|that|this)\b",
    "by `--x`": r"\bby `--[a-z-]+",
}
# Legitimate uses of each phrase by path.
_ALLOWED: dict[str, dict[str, int]] = {
    "docs": {},
    "README.md": {},
    "CHANGELOG.md": {},
    "CONTRIBUTING.md": {},
    "SECURITY.md": {},
    "examples/*.ipynb": {},
    "tfrecord_dataset": {"a file a line": 1},
    "beam_pipeline": {},
    "trainer": {"a file a line": 2},
}
_PROSE = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def _texts(where: str) -> list[str]:
    """Return the prose of pages, without code blocks, and of modules."""
    path = _ROOT / where
    if not path.is_dir():
        found = sorted(_ROOT.glob(where))
    else:
        found = sorted(path.rglob("*.md")) or sorted(path.rglob("*.py"))
    return [
        _prose_of_module(text)
        if each.suffix == ".py"
        else re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        for each in found
        for text in [each.read_text()]
    ]


def _prose_of_module(source: str) -> str:
    """Return the comments and strings of a module, including docstrings and messages."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return "\n".join(token.string for token in tokens if token.type in _PROSE)


def counted(text: str) -> Counter[str]:
    """Count each phrase in a text."""
    found = {turn: len(re.findall(sign, text, re.M | re.I)) for turn, sign in _TURNS.items()}
    return Counter({turn: count for turn, count in found.items() if count})


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        pytest.param("A build of other options is told so.", "told, says so", id="told"),
        pytest.param("The last line says so.", "told, says so", id="says so"),
        pytest.param("It has a name a line.", "a file a line", id="a name a line"),
        pytest.param("What is no layout becomes one.", "is no X", id="is no layout"),
        pytest.param("It is no longer there.", "", id="no longer"),
        pytest.param("Tables beside such files", "beside", id="beside"),
        pytest.param("Images lie in the file", "lie, lies", id="lie"),
        pytest.param("lines of a recipe alone", "X alone", id="alone"),
        pytest.param("the best, where there is one", ", where it", id="where"),
        pytest.param("It is chosen by `--layout`.", "by `--x`", id="by an option"),
        pytest.param("Choose it with `--layout`, one line per file.", "", id="plain"),
    ],
)
def test_the_signs(text: str, turn: str) -> None:
    assert counted(text) == Counter([turn] if turn else [])


@pytest.mark.parametrize("where", _ALLOWED)
def test_pages_are_in_plain_words(where: str) -> None:
    texts = _texts(where)

    assert texts
    assert sum(map(counted, texts), Counter()) == Counter(_ALLOWED[where])


def _words(pages: list[Path]) -> int:
    """Count the words of pages, without bars of tables and list markers."""
    return sum(len(re.findall(r"\S*\w\S*", page.read_text())) for page in pages)


def test_pages_are_few_words() -> None:
    pages = {*(_ROOT / "docs").rglob("*.md")}
    dev = {*(_ROOT / "docs/dev").glob("*.md")}

    assert _words([*(pages - dev), _ROOT / "README.md", _ROOT / "CHANGELOG.md"]) <= 24_000
    assert _words([*dev]) <= 10_000


@pytest.mark.parametrize(
    ("page", "most"), [("README.md", 99), ("CHANGELOG.md", 40), ("docs/trees.md", 60)]
)
def test_a_page_has_few_lines(page: str, most: int) -> None:
    assert len((_ROOT / page).read_text().splitlines()) <= most
