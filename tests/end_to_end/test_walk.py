"""What a new user does: a clone, an empty folder, the lines of three pages, both reports open."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from end_to_end import pages
from end_to_end.inputs_of_pages import TREES
from end_to_end.test_pages_by_input import PAGES, check_no_warnings

pytestmark = pytest.mark.readers

_ROOT = Path(__file__).parents[2]
_REPORT = re.compile(r"^report: (.*/report\.html)$", re.MULTILINE)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """What git has of this repository."""
    folder = tmp_path_factory.mktemp("made") / "clone"
    subprocess.run(["git", "clone", "--quiet", str(_ROOT), str(folder)], check=True)
    return folder


@pytest.mark.parametrize("page", ["coco", "kaggle-table", "tables"])
def test_from_a_page_to_a_model_with_both_reports(page, clone, tmp_path, opened):
    TREES[page](tmp_path)
    ran = pages.play(PAGES[page], tmp_path, env={**os.environ, "PYTHONPATH": str(clone)})
    check_no_warnings(ran)
    reports = [path for _, done in ran for path in _REPORT.findall(done.stderr)]
    assert reports

    # A dataset, then the run that trains on it; a page may show two of each.
    for dataset, run in zip(reports[::2], reports[1::2], strict=True):
        name = (tmp_path / dataset).parents[1].name
        page_of_data, page_of_run = opened(tmp_path / dataset), opened(tmp_path / run)
        assert page_of_data.locator("h1").inner_text().startswith(name)
        assert not page_of_data.locator("#checks .red").count()
        assert "on validation" in page_of_run.locator("header").inner_text()
        assert page_of_run.locator("#curves svg").count()
        assert list(tmp_path.glob(f"runs/{name}/model.keras"))
