"""Pages in Chromium: what all of them have to do."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page in a window; what it logs or asks others for fails the test."""
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


def check_looks(page: Any, width: int, scheme: str) -> None:
    """Nothing is wider than the window, the ground suits the room, all pictures are shown."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    [red, green, blue] = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    )
    assert (red + green + blue > 600) == (scheme == "light")
    assert page.evaluate("[...document.images].every(image => !image.src || image.naturalWidth)")


def check_links(page: Any) -> None:
    """Each link at the head leads to a section."""
    links = page.locator("nav a").all()
    assert links
    for link in links:
        assert page.locator(link.get_attribute("href")).count() == 1


def check_enlarging(page: Any, button: Any, text: str) -> None:
    """A picture of a gallery opens with its text below it, and closes: by mouse and by keyboard."""
    dialog = page.locator("dialog")
    button.click()
    assert dialog.is_visible()
    assert dialog.locator("img").get_attribute("src") == button.locator("img").get_attribute("src")
    assert text in dialog.locator("pre").inner_text()
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    button.focus()
    page.keyboard.press("Enter")
    assert dialog.is_visible()
    dialog.locator(".close").click()
    assert not dialog.is_visible()
