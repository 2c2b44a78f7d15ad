"""docs/trees.md: what a build makes of each of 420 well-known trees, in one word.

`PYTHONPATH=. python tests/trees_page.py` writes it from `tests/cases/zoo/outcomes.tsv`.
"""

from pathlib import Path

_ROOT = Path(__file__).parent.parent
PAGE = _ROOT / "docs" / "trees.md"
_OUTCOMES = _ROOT / "tests" / "cases" / "zoo" / "outcomes.tsv"
_HEAD = """# Trees of well-known datasets

What `build` makes of well-known trees. "Read by a recipe" needs options or a recipe, which the
refusal names; "refused" needs a step first, such as a conversion. [layouts.md](layouts.md) has the
rules.

| tree | what it is | |
|---|---|---|
"""


def page() -> str:
    """The page, a row a tree."""
    rows = (line.split("\t") for line in _OUTCOMES.read_text("utf-8").splitlines())
    return _HEAD + "".join(f"| {name} | {_plain(what)} | {word} |\n" for name, word, what in rows)


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
