"""Fixtures that open pages in Chromium."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page; the test fails if it logs anything or makes external requests."""
    said: list[str] = []
    pages = []

    def open_page(path: Any, width: int = 1200, scheme: str = "light") -> Any:
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        pages.append(page)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append("a dialog"))
        page.on("request", lambda asked: said.append(asked.url) if _is_elsewhere(asked) else None)
        page.goto(f"file://{path}")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert said == []


def _is_elsewhere(asked: Any) -> bool:
    return not asked.url.startswith(("file:", "data:"))
