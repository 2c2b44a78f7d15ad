"""Reports of datasets and runs in Chromium: no errors, and interaction works."""

import shutil

import numpy as np
import pytest
from end_to_end.building import build
from testdata.make_golden import GOLDEN
from tiers import first_in_ci

import beam_pipeline
from beam_pipeline.report.page import write_report
from trainer.options.train_options import TrainConfig
from trainer.report import pictures
from trainer.report.history import Best
from trainer.report.page import Pictured, Sections, html
from trainer.tasks.figures import ClassFigures
from trainer.tasks.mean_average_precision import MeanAveragePrecision

pytestmark = pytest.mark.readers

HOSTILE = "<img src=x onerror=alert(1)><script>alert(1)</script>"
CLASSES = (HOSTILE, "cat", "dog")


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    dataset = shutil.copytree(GOLDEN, tmp_path_factory.mktemp("golden") / "1.0.0")
    return write_report(str(dataset))


def box_figures():
    random = np.random.default_rng(3)
    corners = random.uniform(0, 0.5, (8, 4, 2))
    boxes = np.concatenate([corners, corners + random.uniform(0.1, 0.4, (8, 4, 2))], axis=-1)
    labels = random.integers(0, 3, (8, 4))
    found = MeanAveragePrecision(CLASSES)
    windows, crowd = np.tile([0.0, 0, 1, 1], (8, 1)), np.zeros((8, 4), bool)
    moved = np.clip(boxes + random.normal(0, 0.03, boxes.shape), 0, 1)
    found.update(
        {"boxes": boxes, "labels": labels, "crowd": crowd, "windows": windows},
        {"boxes": moved, "labels": labels, "scores": random.random((8, 4))},
    )
    found.result()
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The report of a run with every section that shows foreign names."""
    random = np.random.default_rng(2)
    boxes, classes = box_figures(), ClassFigures(CLASSES, has_one_class=True)
    classes.update(random.integers(0, 3, 60), {"probabilities": random.dirichlet([1, 1, 1], 60)})
    image = random.integers(0, 256, (90, 120, 3)).astype(np.uint8)
    examples = [
        Pictured(
            pictures={
                name: pictures.picture(image, overlay) for name, overlay in one.overlays.items()
            },
            text=f"{HOSTILE}: {one.text}",
        )
        for one in boxes.examples()[:4]
    ]
    of_prices = {"name": "price_of_houses", "r2": 0.9, "bias": -84e3, "mae": 67e3, "points": []}
    sections = Sections(
        batch=[Pictured(pictures={"": pictures.picture(image)}, text=HOSTILE)] * 3,
        split=HOSTILE,
        figures={**boxes.figures(), **classes.figures(), "numbers": [of_prices]},
        examples=examples,
    )
    history = [
        {"epoch": n, "step": 9 * n, "loss": loss, "val_loss": loss + 0.1, "val_accuracy": 1 / loss}
        for n, loss in enumerate([3, 2, 1.5, 1.25], start=1)
    ]
    options = TrainConfig(data="d", output="o", target=HOSTILE)
    more = {"facts": [HOSTILE, "2026-01-01"], "sections": sections}
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(
        html(HOSTILE, options, history, Best(), sentence=HOSTILE, task="detection", **more)
    )
    return file


@pytest.fixture(params=["golden", "run"])
def report(request):
    return request.getfixturevalue(request.param)


def check_looks(page, width, scheme):
    """Check that nothing overflows, the background fits the scheme, and all pictures load."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    [red, green, blue] = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    )
    assert (red + green + blue > 600) == (scheme == "light")
    assert page.evaluate("[...document.images].every(image => !image.src || image.naturalWidth)")


@pytest.mark.parametrize("width", first_in_ci([360, 1200]))
@pytest.mark.parametrize("scheme", first_in_ci(["dark", "light"]))
def test_phones_and_dark_rooms(opened, report, width, scheme):
    check_looks(opened(report, width, scheme), width, scheme)


def test_links_lead_to_sections(opened, report):
    page = opened(report)
    links = page.locator("nav a").all()
    assert links
    for link in links:
        assert page.locator(link.get_attribute("href")).count() == 1


@pytest.mark.parametrize(
    ("report", "section", "text"),
    [
        ("golden", "", "image/encoded"),
        ("run", "#batch", HOSTILE),
        ("run", "#examples", HOSTILE),
    ],
    indirect=["report"],
)
def test_a_picture_opens_with_its_text_and_closes(opened, report, section, text):
    """By mouse and by keyboard."""
    page = opened(report)
    button, dialog = page.locator(f"{section} .gallery button").last, page.locator("dialog")
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


def shown(page):
    return page.locator(".gallery li:not([hidden])").count()


def test_filters(opened, golden):
    page = opened(golden)
    assert shown(page) == 10
    for filtered, value, count in (
        *(("split", "test", 3), ("class", "cat", 1), ("split", "", 5), ("class", "-", 0)),
    ):
        page.select_option(f"#{filtered}", value)
        assert shown(page) == count
        assert page.locator("#shown").inner_text() == f"{count} shown"


@pytest.mark.parametrize("kind", first_in_ci(["store", "bare", "adopted"]))
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
    page = opened(page_path)
    assert shown(page) == 10
    check_looks(page, 1200, "light")


def test_code_names_the_folder_and_passed_checks_are_folded(opened, golden):
    page = opened(golden)
    folder = golden.removesuffix("/report.html")
    assert f'trainer.open("{folder}")' in page.locator("#load pre").first.inner_text()
    assert not page.locator(".checks details li").first.is_visible()
    page.locator(".checks summary").click()
    assert page.locator(".checks details li").first.is_visible()


def test_names_of_others_do_nothing(opened, run, tmp_path, write_image):
    hostile = HOSTILE.partition("<script>")[0]  # a folder's name has no "/"
    for name in (hostile, "cat"):
        write_image(tmp_path / "pets" / name / "1.jpg", seed=len(name))
    page = opened(write_report(build(tmp_path / "pets", tmp_path / "data").path))
    page.select_option("#class", hostile)
    assert shown(page) == 1
    page.locator(".gallery button").last.click()

    page = opened(run)
    for place in ("h1", "#classes tbody th", "#boxes tbody th"):
        assert page.locator(place).first.inner_text() == HOSTILE
    assert page.locator("script").count() == 1
