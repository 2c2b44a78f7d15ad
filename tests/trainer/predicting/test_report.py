"""The page on a classifier's predictions."""

import numpy as np
import pytest

from trainer.predicting.report import ClassReport
from trainer.report.page import Pictured


@pytest.fixture
def report():
    """Five records of two classes, of which two are mistaken; no record is of class c."""
    made = ClassReport(("<a>", "b", "c"))
    for true, first in [(0, 0.9), (0, 0.2), (1, 0.1), (1, 0.7), (0, 0.6)]:
        made.add(true, np.array([first, 1 - first, 0.0]))
    return made


def test_figures_by_class(report):
    found = report.figures()["classes"]
    assert found["confusion"] == [[2, 1, 0], [1, 1, 0], [0, 0, 0]]
    first, second, third = found["rows"]
    assert (first["records"], first["precision"], first["recall"]) == (3, 2 / 3, 2 / 3)
    assert (second["records"], second["precision"], second["recall"]) == (2, 1 / 2, 1 / 2)
    # Of the 6 pairs (0.9, 0.2, 0.6) with (0.1, 0.7) four are in order.
    assert first["auc"] == second["auc"] == pytest.approx(4 / 6)
    assert (third["records"], third["recall"], third["auc"]) == (0, None, None)


def test_the_worst_mistake_comes_first_and_names_are_escaped(report):
    texts = [each.text for each in report.examples()]
    assert texts == ["<a> (0.20), predicted b (0.80)", "b (0.30), predicted <a> (0.70)"]
    shown = [Pictured(pictures={"": "data:,"}, text=text) for text in texts]
    page = report.html("cells & more", "a run", "test", shown)
    assert "cells &amp; more" in page
    assert "<a>" not in page
    assert "5 records, accuracy 0.6000; means of the classes: precision 0.583" in page
    assert page.index("predicted b") < page.index("predicted &lt;a&gt;")
    assert 'id="curves"' not in page


def test_of_many_classes_the_page_has_the_most_frequent_confusions():
    report = ClassReport(tuple(f"class {number:02d}" for number in range(50)))
    for number in range(120):
        report.add(number % 2, np.eye(50)[number % 3 + 7])
    report.add(0, np.eye(50)[9])
    assert report.figures()["classes"]["confusions"][0] == ("class 00", "class 09", 21)
    page = report.html("many", "a run", "test", ())
    assert '<th scope="row">class 00</th><td>class 09</td><td class="number">21</td>' in page
