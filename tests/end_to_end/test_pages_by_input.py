"""The pages of docs/from: every command on the tree that the page shows."""

import re
import shlex
from pathlib import Path

import pytest
from end_to_end.inputs_of_pages import TREES

_PAGES = Path(__file__).parents[2] / "docs/from"


def test_every_page_has_its_tree():
    assert {page.stem for page in _PAGES.glob("*.md")} - {"index"} == TREES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
def test_the_commands_run(name, tmp_path, command):
    TREES[name](tmp_path)
    text = (_PAGES / f"{name}.md").read_text()
    lines = [
        line
        for block in re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    assert any(" build " in line for line in lines)
    for line in lines:
        python, option, *words = shlex.split(line)
        assert (python, option) == ("python", "-m")
        done = command(*words, cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
        # What a column names is a guess, of which a warning tells.
        if name != "kaggle-table":
            assert "warning" not in done.stderr.lower(), (line, done.stderr)
