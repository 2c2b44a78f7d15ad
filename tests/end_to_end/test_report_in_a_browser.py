"""`report.html` in Chromium: nothing fails, and what a person does there works."""

import shutil

import pytest
from browsing import check_enlarging, check_links, check_looks
from testdata.make_golden import GOLDEN

import beam_pipeline
from beam_pipeline.report.page import write_report

pytestmark = pytest.mark.readers

HOSTILE = "<img src=x onerror=alert(1)>"


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
    check_enlarging(page, page.locator(".gallery button").first, "image/encoded")


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phones_and_dark_rooms(opened, golden, width, scheme):
    check_looks(opened(golden, width, scheme), width, scheme)


@pytest.mark.parametrize("kind", ["bare", "adopted", "store"])
def test_datasets_of_others_and_on_stores(opened, tmp_path, bucket, kind):
    folder = tmp_path / "pets/2.1.0"
    folder.mkdir(parents=True)
    for shard in GOLDEN.glob("*.tfrecord-*"):
        shutil.copy(shard, folder)
    path = str(folder)
    if kind == "adopted":
        beam_pipeline.adopt(path)
    if kind == "store":
        url, store = bucket
        store.put_folder(f"{url}/golden", GOLDEN)
        path = f"{url}/golden"
    page_path = write_report(path, str(folder))
    assert (folder / "report.html").stat().st_size < 5_000_000
    for width, scheme in ((1200, "light"), (1200, "dark"), (360, "light")):
        page = opened(page_path, width, scheme)
        assert shown(page) == 10
        check_looks(page, width, scheme)
    check_links(page)


def test_links_lead_to_sections(opened, golden):
    check_links(opened(golden))


def test_code_names_the_folder_and_passed_checks_are_folded(opened, golden):
    page = opened(golden)
    folder = golden.removesuffix("/report.html")
    assert f'trainer.open("{folder}")' in page.locator("#load pre").first.inner_text()
    assert not page.locator(".checks details li").first.is_visible()
    page.locator(".checks summary").click()
    assert page.locator(".checks details li").first.is_visible()


def test_names_of_others_do_nothing(opened, tmp_path, write_image):
    for name in (HOSTILE, "cat"):
        write_image(tmp_path / "pets" / name / "1.jpg", seed=len(name))
    config = beam_pipeline.BuildConfig(input=str(tmp_path / "pets"), output=str(tmp_path / "data"))
    page = opened(write_report(beam_pipeline.build(config).path))
    page.select_option("#class", HOSTILE)
    assert shown(page) == 1
    page.locator(".gallery button").last.click()
