"""The page of a run in Chromium: nothing fails, and what a person does there works."""

import numpy as np
import pytest
from browsing import check_enlarging, check_links, check_looks

from trainer.options.train import TrainConfig
from trainer.report import pictures
from trainer.report.history import Best
from trainer.report.page import Pictured, Sections, html
from trainer.tasks.detection.mean_average_precision import MeanAveragePrecision
from trainer.tasks.figures import ClassFigures

pytestmark = pytest.mark.readers

HOSTILE = "<script>alert(1)</script>"
CLASSES = (HOSTILE, "cat", "dog")


def history(losses):
    return [
        {"epoch": n, "step": 9 * n, "loss": loss, "val_loss": loss + 0.1, "val_accuracy": 1 / loss}
        for n, loss in enumerate(losses, start=1)
    ]


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
def path(tmp_path_factory):
    """A page with every section that has names of others in it."""
    random = np.random.default_rng(2)
    boxes, classes = box_figures(), ClassFigures(CLASSES)
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
    sections = Sections(
        batch=[Pictured(pictures={"": pictures.picture(image)}, text=HOSTILE)] * 3,
        split=HOSTILE,
        figures={**boxes.figures(), **classes.figures()},
        examples=examples,
    )
    options = TrainConfig(data="d", output="o", target=HOSTILE)
    more = {"task": "detection", "facts": [HOSTILE, "2026-01-01"], "sections": sections}
    page = html(HOSTILE, options, history([3, 2, 1.5, 1.25]), Best(), **more)
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(page)
    return file


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phones_and_dark_rooms(opened, path, width, scheme):
    check_looks(opened(path, width, scheme), width, scheme)


def test_links_lead_to_sections(opened, path):
    page = opened(path)
    check_links(page)
    assert page.locator("nav a").count() == 5


def test_enlarging_by_mouse_and_by_keyboard(opened, path):
    page = opened(path)
    for section in ("batch", "examples"):
        check_enlarging(page, page.locator(f"#{section} .gallery button").last, HOSTILE)


def test_names_of_others_are_text(opened, path):
    page = opened(path)
    assert page.locator("h1").inner_text() == HOSTILE
    for section in ("classes", "boxes"):
        first = page.locator(f"#{section} tbody th").first
        assert first.inner_text() == HOSTILE
    assert page.locator("script").count() == 1
