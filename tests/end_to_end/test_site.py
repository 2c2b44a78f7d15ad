"""The site as `make docs` makes it, opened from disk: its search finds everyday words."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.readers

# The page, and the heading if it is not the page's title, of the first hit by query.
FIRST_HITS = {
    "imbalance": "rare-classes.html",
    "rare class": "rare-classes.html",
    "accuracy is high": "rare-classes.html",
    "overfitting": "compare-runs.html",
    "tensorboard": "compare-runs.html",
    "missing values": "from/tables.html",
    "kaggle": "predicting.html",
    "submission": "predicting.html",
    "--ignore": "from/index.html",
    "gpu not found": "troubleshooting.html",
    "out of memory": "troubleshooting.html",
    "install": "install.html",
    "python version": "install.html",
    "csv to predictions": "table-tutorial.html",
    "predict new": "predicting.html",
    "text in csv": "from/text-table.html",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    mkdocs = Path(sys.executable).with_name("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    words = [mkdocs, "build", "--strict", "--quiet", "--site-dir", folder]
    done = subprocess.run(words, cwd=_ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def search(site, opened):
    """search(query) -> pages of the hits, best first."""
    page = opened(site / "index.html")
    page.keyboard.press("f")
    page.wait_for_selector("text=Type to start searching")
    stated = page.locator(".md-search-result__meta")

    def search(query):
        page.fill(".md-search__input", "")
        page.keyboard.press("End")
        page.wait_for_selector("text=Type to start searching")
        page.fill(".md-search__input", query)
        page.keyboard.press("End")
        page.wait_for_function("!document.body.innerText.includes('Type to start searching')")
        assert "No matching" not in stated.inner_text(), query
        links = page.query_selector_all(".md-search-result__link")
        addresses = [link.evaluate("link => link.href") for link in links]
        return [re.sub(r"[?#].*", "", each.partition(f"{site}/")[2]) for each in addresses]

    return search


def test_the_first_hit_of_everyday_words(search):
    assert {query: search(query)[0] for query in FIRST_HITS} == FIRST_HITS


@pytest.mark.parametrize("query", ["accuracy", "memory", "flink"])
def test_pages_for_developers_are_never_first(search, query):
    assert not search(query)[0].startswith("dev/")


def test_links_of_the_site_open_from_disk(site, opened):
    page = opened(site / "tutorial.html")
    page.click("text=Rare classes >> nth=-1")
    assert page.url == f"file://{site}/rare-classes.html"
    assert page.inner_text("h1").startswith("Rare classes")
