"""The page on a classifier's predictions."""

import numpy as np
import pytest

from trainer.predicting.report import ClassReport, write_page


@pytest.fixture
def report():
    """Five records of two classes, of which two are mistaken; no record is of class c."""
    made = ClassReport(("<a>", "b", "c"))
    for number, (true, first) in enumerate([(0, 0.9), (0, 0.2), (1, 0.1), (1, 0.7), (0, 0.6)]):
        made.add(true, np.array([first, 1 - first, 0.0]), f"file {number}", None)
    return made


def test_figures_by_class(report):
    assert report.confusion.tolist() == [[2, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert report.accuracy == pytest.approx(3 / 5)
    first, second, third = report.figures()

    assert (first.records, first.precision, first.recall) == (3, pytest.approx(2 / 3), 2 / 3)
    assert first.f1 == pytest.approx(2 / 3)
    assert (second.records, second.precision, second.recall) == (2, 1 / 2, 1 / 2)
    # Of the 6 pairs (0.9, 0.2, 0.6) with (0.1, 0.7) four are in order.
    assert first.auc == second.auc == pytest.approx(4 / 6)
    assert third.records == 0
    assert np.isnan([third.precision, third.recall, third.f1, third.auc]).all()


def test_the_worst_mistake_comes_first_and_names_are_escaped(report, tmp_path):
    assert [(each.source, each.true, each.predicted) for each in report.mistakes] == [
        ("file 1", "<a>", "b"),
        ("file 3", "b", "<a>"),
    ]
    write_page(report, "cells & more", "a run", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()

    assert "cells &amp; more" in page
    assert "<a>" not in page
    assert "5 records, accuracy 0.6000" in page
    assert page.index("file 1") < page.index("file 3")


def test_of_many_classes_the_page_has_the_most_frequent_confusions(tmp_path):
    classes = tuple(f"class {number:02d}" for number in range(50))
    report = ClassReport(classes)
    for number in range(120):
        predicted = number % 3 + 7
        report.add(number % 2, np.eye(50)[predicted], str(number), None)
    report.add(0, np.eye(50)[9], "once more", None)

    assert report.confusions[0] == ("class 00", "class 09", 21)
    write_page(report, "many", "a run", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "The most frequent of 6 confusions" in page
    assert "<td>class 00</td><td>class 09</td><td>21</td>" in page
    assert len(page) < 40_000


def test_only_the_worst_are_kept():
    report = ClassReport(("a", "b"))
    for number in range(100):
        report.add(0, np.array([number / 300, 1 - number / 300]), str(number), None)

    assert [each.source for each in report.mistakes] == [str(number) for number in range(24)]
