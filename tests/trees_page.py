"""docs/trees.md, made from the cases of the zoo.

`PYTHONPATH=. python tests/trees_page.py` writes it.
"""

import json
import re
from pathlib import Path

from beam_pipeline.config import BuildConfig
from tfrecord_dataset.options import all_options

_ROOT = Path(__file__).parent.parent
PAGE = _ROOT / "docs" / "trees.md"
_CASES = _ROOT / "tests" / "cases" / "zoo"
_LONGEST = 240
_HEAD = """# Trees of well-known datasets

What `build` makes of each tree of `tests/cases/zoo`, by the case's name. Where it stops, its
message begins as here, and goes on with what helps. [layouts.md](layouts.md#what-to-type) has
what to type.

| tree | what it is | what is read | command |
|---|---|---|---|
"""


def page() -> str:
    """The page, a row a case."""
    return _HEAD + "".join(map(_row, sorted(_CASES.glob("*/input"))))


def _row(described: Path) -> str:
    case = described.parent
    first = described.read_text("utf-8").partition("\n")[0]
    cells = (case.name, first.lstrip("# ").rstrip("."), _read(case), f"`build {_options(case)}`")
    return f"| {' | '.join(cells)} |\n"


def _options(case: Path) -> str:
    options = case / "options"
    text = options.read_text("utf-8").strip() if options.exists() else "INPUT"
    for name, field in all_options(BuildConfig).items():
        if field.option.recipe_only:
            text = re.sub(rf"{field.flag}(?= |$)", f"{name}:", text)
    return text.replace("INPUT", "in").replace("|", "\\|")


def _read(case: Path) -> str:
    if (error := case / "error").exists():
        _, _, why = error.read_text("utf-8").strip().partition(": ")
        why = why.replace("INPUT/", "").partition(" cannot be read as it lies: ")
        told = (why[2] or why[0]).replace("INPUT", "in").partition("; ")[0].partition(" by python")
        return f"stops: {_code(told[0])}"
    how, *lines = (case / "expected.jsonl").read_text("utf-8").splitlines()
    records = sum('"key"' in line for line in lines)
    rejects = case / "rejects.jsonl"
    bad = len(rejects.read_text("utf-8").splitlines()) if rejects.exists() else 0
    counts = f"{records} records" + (f", {bad} rejected" if bad else "")
    return f"{counts}: {_code(json.loads(how)['input'].replace('INPUT', 'in'))}"


def _code(text: str) -> str:
    """A text of a program as code, so that nothing in it is Markdown."""
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"`{short.replace('`', '').replace('|', chr(92) + '|')}`"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
