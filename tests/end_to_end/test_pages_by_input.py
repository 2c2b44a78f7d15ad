"""The pages of docs/from: every command on the tree that the page shows, and what it prints."""

import re
from pathlib import Path

import pytest
from end_to_end import pages
from end_to_end.inputs_of_pages import TREES

PAGES = {page.stem: page.read_text() for page in Path(__file__).parents[2].glob("docs/from/*.md")}


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


def test_every_page_has_its_tree_is_short_and_shows_what_one_sees():
    assert PAGES.keys() == TREES.keys()
    for name in PAGES.keys() - {"index"}:
        assert 150 <= len(PAGES[name].split()) <= 330, name
        assert "\n```text\n" in PAGES[name], name
        assert "](../images/" in PAGES[name], name


@pytest.mark.nightly
@pytest.mark.parametrize("name", TREES)
def test_the_commands_run_and_print_what_the_page_shows(name, tmp_path):
    """A build gives no warnings, and every report that is named is there."""
    TREES[name](tmp_path)
    for words, done in pages.play(PAGES[name], tmp_path):
        # The trainer warns of so few records.
        assert words[0] != "beam-tfrecords" or "warning" not in done.stderr.lower(), done.stderr
        for report in re.findall(r"^report: (.*/report\.html)$", done.stderr, re.MULTILINE):
            assert (tmp_path / report).exists()
