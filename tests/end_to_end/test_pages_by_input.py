"""The pages of docs/from: every command on the tree that the page shows, and what it prints."""

import subprocess
import sys
from pathlib import Path

import pytest
from end_to_end import pages
from end_to_end.inputs_of_pages import TREES
from end_to_end.test_readme import NOISE

_PAGES = Path(__file__).parents[2] / "docs/from"


def commands(name: str) -> list[list[str]]:
    """The words after `python -m` of each command of a page, in their order."""
    blocks = pages.fences(_PAGES / f"{name}.md")
    return [
        words[2:]
        for language, code in blocks
        if language == "bash"
        for words in pages.commands(code)
    ]


@pytest.mark.parametrize(
    ("line", "is_printed"),
    [
        pytest.param("train: 3 records", True, id="whole"),
        pytest.param("report: …/report.html", True, id="a part left out"),
        pytest.param("train: 3", False, id="the start of a line"),
        pytest.param("test: 3 records", False, id="another line"),
    ],
)
def test_a_line_of_output_is_compared_whole(line, is_printed):
    missing = pages.not_printed(line, "train: 3 records\nreport: /a/report.html\n")
    assert missing == ([] if is_printed else [line])


def test_every_page_has_its_tree():
    assert {page.stem for page in _PAGES.glob("*.md")} == TREES.keys()


@pytest.mark.parametrize("name", sorted(TREES.keys() - {"index"}))
def test_every_page_is_short_and_shows_what_one_sees(name):
    page = (_PAGES / f"{name}.md").read_text()
    assert 150 <= len(page.split()) <= 330
    assert "\n```text\n" in page
    assert "](../images/" in page


@pytest.mark.nightly
@pytest.mark.parametrize("name", TREES)
def test_the_commands_run_and_print_what_the_page_shows(name, tmp_path, command):
    TREES[name](tmp_path)
    printed = ""
    for language, code in pages.fences(_PAGES / f"{name}.md"):
        if language == "text":
            assert not pages.not_printed(code, printed), printed
        elif language == "python":
            subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
        else:
            printed = ""
            for words in pages.commands(code):
                assert words[:2] == ["python", "-m"]
                done = command(*words[2:], cwd=tmp_path)
                assert done.returncode == 0, (words, done.stderr)
                assert not NOISE.search(done.stderr), (words, done.stderr)
                if "beam_pipeline" in words:  # the trainer warns of so few records
                    assert "warning" not in done.stderr.lower(), (words, done.stderr)
                printed += done.stdout + done.stderr
