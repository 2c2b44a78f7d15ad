"""Makes docs/trees.md: which of 420 well-known trees a build reads.

`PYTHONPATH=. python tests/trees_page.py` writes it from `tests/cases/zoo/outcomes.tsv`.
"""

import textwrap
from pathlib import Path

_ROOT = Path(__file__).parent.parent
PAGE = _ROOT / "docs" / "trees.md"
_OUTCOMES = _ROOT / "tests" / "cases" / "zoo" / "outcomes.tsv"
_HEAD = """# Well-known datasets

Tests build a small tree of each of these names, as its authors or Kaggle distribute it.
"""
# Text and outcomes by heading.
_PARTS = {
    "Read as they are": ("", ("read as before", "read now")),
    "Read with a recipe": (
        "`build` stops with a question; an option or a [recipe](recipe.md) answers it.",
        ("read by a recipe",),
    ),
    "Refused": (
        "A step comes first, such as a [conversion](from/convert.md); the message names it.",
        ("refused",),
    ),
}
_WIDTH = 185


def page() -> str:
    """Render the page: names by outcome."""
    rows = [line.split("\t") for line in _OUTCOMES.read_text("utf-8").splitlines()]
    parts = [_HEAD]
    for heading, (text, outcomes) in _PARTS.items():
        names = [name for name, outcome, _ in rows if outcome in outcomes]
        listed = textwrap.fill(
            ", ".join(names), _WIDTH, break_long_words=False, break_on_hyphens=False
        )
        parts.append(f"## {heading} ({len(names)})\n")
        parts.append(f"{text}\n" if text else "")
        parts.append(f"{listed}\n")
    return "\n".join(filter(None, parts))


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
