"""The pages of docs/from: every command on the tree that the page shows."""

import re
import shlex
from pathlib import Path

import pytest
from end_to_end.inputs_of_pages import TREES
from end_to_end.test_readme import NOISE

_PAGES = Path(__file__).parents[2] / "docs/from"


def commands(name: str) -> list[list[str]]:
    """The words after `python -m` of each command of a page, in their order."""
    text = (_PAGES / f"{name}.md").read_text()
    lines = [
        shlex.split(line)
        for block in re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for line in block.replace("\\\n", "").splitlines()
    ]
    assert all(words[:2] == ["python", "-m"] for words in lines)
    return [words[2:] for words in lines]


def test_every_page_has_its_tree():
    assert {page.stem for page in _PAGES.glob("*.md")} - {"index"} == TREES.keys()


@pytest.mark.nightly
@pytest.mark.parametrize("name", TREES)
def test_the_commands_run(name, tmp_path, command):
    TREES[name](tmp_path)
    lines = commands(name)
    assert any("build" in words for words in lines)
    for words in lines:
        done = command(*words, cwd=tmp_path)
        assert done.returncode == 0, (words, done.stderr)
        assert not NOISE.search(done.stderr), (words, done.stderr)
        assert "warning" not in done.stderr.lower(), (words, done.stderr)
