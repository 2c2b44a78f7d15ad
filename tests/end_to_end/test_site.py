"""What the pages look like once they are rendered: no broken blocks, no escapes that are shown."""

import html
import re
from pathlib import Path

import markdown
import pytest
from end_to_end.test_docs import PAGES

_EXTENSIONS = ["attr_list", "fenced_code", "md_in_html", "tables"]
# What a page shows where its Markdown is broken.
_BROKEN = re.compile(r"```|\\\||(?<!\w)`|\]\(|^\s*\|.*\|\s*$", re.MULTILINE)


def broken(text: str) -> list[str]:
    """What is shown of a page's Markdown that should have become something else."""
    rendered = markdown.markdown(text, extensions=_EXTENSIONS)
    shown = re.sub(r"<pre>.*?</pre>|<[^>]*>", "", rendered, flags=re.DOTALL)
    return [found[0] for found in _BROKEN.finditer(html.unescape(shown))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("```bash\na \\\n  b | c\n```\n", "", id="a block"),
        pytest.param("| a |\n|---|\n| <code>N&#124;A</code> |\n", "", id="an entity in code"),
        pytest.param("1. A:\n\n   `` `bash pip install x ` ``\n", "`", id="a fence reflowed"),
        pytest.param("| `N\\|A` | a |\n", "| N\\|A | a |", id="a row without its table"),
        pytest.param("| a |\n|---|\n| `N\\|A` |\n", "\\|", id="an escape in code"),
        pytest.param("text\n```bash\na\n", "```", id="a fence that does not end"),
    ],
)
def test_broken(text, found):
    assert bool(broken(text)) == bool(found)
    assert all(each.startswith(found) for each in broken(text)[:1])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_markdown_is_shown_and_no_command_was_reflowed(page: Path):
    """A line that continues ends with a backslash; a block has a command in each line."""
    assert broken(page.read_text()) == []
    for block in re.findall(r"^```bash\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        assert not re.search(r"\\ |\S docker (?:build|push)", block), block
