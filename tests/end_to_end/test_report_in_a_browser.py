"""`report.html` in Chromium: nothing fails, and what a person does there works."""

import shutil

import pytest
from testdata.make_golden import GOLDEN

import beam_pipeline
from beam_pipeline.report.page import write_report

pytestmark = pytest.mark.readers

CHROMIUM = shutil.which("chromium")
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Opens a page in a window; what it logs or asks others for fails the test."""
    said = []
    pages = []

    def open_page(path, width=1200, scheme="light"):
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        pages.append(page)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append("a dialog"))
        page.on("request", lambda asked: said.append(asked.url) if is_elsewhere(asked) else None)
        page.goto(f"file://{path}")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert said == []


def is_elsewhere(asked):
    return not asked.url.startswith(("file:", "data:"))


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    dataset = shutil.copytree(GOLDEN, tmp_path_factory.mktemp("golden") / "1.0.0")
    return write_report(str(dataset))


def shown(page):
    return page.locator(".gallery li:not([hidden])").count()


def test_filters(opened, golden):
    page = opened(golden)
    assert shown(page) == 10
    page.select_option("#split", "test")
    assert shown(page) == 3
    assert page.locator("#shown").inner_text() == "3 shown"
    page.select_option("#class", "cat")
    assert shown(page) == 1
    page.select_option("#split", "")
    assert shown(page) == 5
    page.select_option("#class", "-")
    assert shown(page) == 0


def test_enlarging_by_mouse_and_by_keyboard(opened, golden):
    page = opened(golden)
    dialog = page.locator("dialog")
    first = page.locator(".gallery button").first
    first.click()
    assert dialog.is_visible()
    assert dialog.locator("img").get_attribute("src") == first.locator("img").get_attribute("src")
    assert "image/encoded" in dialog.locator("pre").inner_text()
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    first.focus()
    page.keyboard.press("Enter")
    assert dialog.is_visible()
    dialog.locator(".close").click()
    assert not dialog.is_visible()


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phones_and_dark_rooms(opened, golden, width, scheme):
    page = opened(golden, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    [red, green, blue] = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    )
    assert (red + green + blue > 600) == (scheme == "light")
    assert page.evaluate("[...document.images].every(image => !image.src || image.naturalWidth)")


def test_links_lead_to_sections(opened, golden):
    page = opened(golden)
    for link in page.locator("nav a").all():
        assert page.locator(link.get_attribute("href")).count() == 1


def test_names_of_others_do_nothing(opened, tmp_path, write_image):
    for name in (HOSTILE, "cat"):
        write_image(tmp_path / "pets" / name / "1.jpg", seed=len(name))
    config = beam_pipeline.BuildConfig(input=str(tmp_path / "pets"), output=str(tmp_path / "data"))
    page = opened(write_report(beam_pipeline.build(config).directory))
    page.select_option("#class", HOSTILE)
    assert shown(page) == 1
    page.locator(".gallery button").last.click()
