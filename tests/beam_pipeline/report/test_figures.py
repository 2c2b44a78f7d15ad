"""Figures of a report are of all records, also where few are shown."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from beam_pipeline import build
from beam_pipeline.report.figures import correlation, rank_correlation

NAN = math.nan


def built(source, output, **options):
    """Build a dataset; return the facts of its page, and the page."""
    folder = Path(build(input=str(source), output=str(output), **options).path)
    facts = json.loads((folder / "report.json").read_text())
    return facts, (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("values", "classes", "expected"),
    [
        pytest.param([1, 2, 8, 9], [1, 1, 0, 0], 0.894, id="two classes"),
        pytest.param([1, 2, 8, 999], [1, 1, 0, 0], 0.894, id="only ranks count"),
        pytest.param([5, 9, 1, 5, 9, 1], [0, 1, 2, 0, 1, 2], 1.0, id="one value each"),
        pytest.param([1, 1, 2, 2], [0, 1, 0, 1], 0.0, id="unrelated"),
        pytest.param([1, NAN, 2, NAN], [0, 0, 1, 0], 1.0, id="without missing ones"),
        pytest.param([3, 3, 3, 3], [0, 0, 1, 1], None, id="a constant"),
        pytest.param([1, 2], [0, 0], None, id="one class"),
        pytest.param([NAN, NAN], [0, 1], None, id="all missing"),
    ],
)
def test_correlation(values, classes, expected):
    found = correlation(np.array(values, np.float64), np.array(classes))
    assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("values", "others", "expected"),
    [
        pytest.param([1, 2, 8, 9], [-1, -2, -300, -4000], 1.0, id="only ranks count, not signs"),
        pytest.param([1, NAN, 2, 3], [1, 9, NAN, 3], 1.0, id="where both are known"),
        pytest.param([1, 2, 3, 4], [2, 4, 1, 3], 0.0, id="unrelated"),
        pytest.param([3, 3], [0, 1], None, id="a constant"),
        pytest.param([NAN], [1], None, id="none known"),
    ],
)
def test_rank_correlation(values, others, expected):
    found = rank_correlation(np.array(values, np.float64), np.array(others, np.float64))
    assert found == pytest.approx(expected, abs=1e-3)


def test_a_number_that_the_test_set_lacks_is_what_others_are_compared_with(tmp_path, pages):
    (tmp_path / "houses").mkdir()
    rows = [(n, (n * 7) % 30, f"'{n}' {'word ' * (300 if n == 5 else 1)}") for n in range(30)]
    train = ["rooms,day,text,price", *(f"{r},{day},{text},{100 * r}.5" for r, day, text in rows)]
    test = ["rooms,day,text", *(f"{r},{day},no" for r, day, _ in rows[:9])]
    (tmp_path / "houses/train.csv").write_text("\n".join(train))
    (tmp_path / "houses/test.csv").write_text("\n".join(test))

    facts, page = built(tmp_path / "houses", tmp_path / "out", leaks="warn")

    figures = facts["figures"]
    numbers = {each["feature"]: each["correlation"] for each in figures["numbers"]}
    assert figures["label"] == "price"
    assert (numbers["rooms"], numbers["price"]) == (1.0, None)
    assert numbers["day"] < 0.5
    assert "correlation of ranks with <strong>price</strong>" in page
    assert "Of 38 of 39 records; texts of more than 1,024 characters are left out." in page


def test_a_table(tmp_path, pages):
    rows = ["day,cabin,fare,size,price,big"]
    for n in range(400):
        fare = "" if n % 4 == 0 else f"{n}.5"
        cabin = ("", "", "C85", f"B{n % 20}")[n % 4]
        rows.append(
            f"2020-01-{n % 28 + 1:02},{cabin},{fare},{n % 7},{n}.25,{'yes' if n > 199 else 'no'}"
        )
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")

    facts, page = built(
        tmp_path / "t.csv",
        tmp_path / "out",
        label_column="big",
        split={"train": 0.8, "test": 0.2},
    )

    figures = facts["figures"]
    assert figures["sampled"] < 100
    assert figures["rows"] == "all 400 records"
    texts = {each["feature"]: each for each in figures["texts"]}
    assert texts["cabin"]["values"][:2] == [["", 200], ["C85", 100]]
    assert texts["cabin"]["total"] == 400
    assert texts["day"]["dates"] == ["2020-01-01", "2020-01-28"]
    numbers = {each["feature"]: each for each in figures["numbers"]}
    assert sum(numbers["fare"]["histogram"]["counts"]) == 300
    assert figures["label"] == "label"
    assert numbers["price"]["correlation"] == pytest.approx(math.sqrt(3) / 2, abs=1e-3)
    assert numbers["size"]["correlation"] < 0.1
    assert "<em>(empty)</em>" in page
    assert "Dates from 2020-01-01 to 2020-01-28, of all 400 records." in page
    shares = re.findall(r"\d+ \((\d+\.\d)%\)", page)
    assert len(shares) == 2
    assert all(15 < float(share) < 35 for share in shares)
    assert page.count('<th scope="row">train ') + page.count('<th scope="row">test ') == 12


def test_rare_classes_are_shown_first_six_times(tmp_path, write_image, pages):
    for number in range(150):
        write_image(tmp_path / "pets" / "cat" / f"{number}.jpg", seed=number)
    for number in range(7):
        write_image(tmp_path / "pets" / "owl" / f"{number}.jpg", seed=1000 + number)

    facts, page = built(tmp_path / "pets", tmp_path / "out")

    assert facts["figures"]["sampled"] == 60
    shown = re.findall(r'data-classes="\[&#34;(\w+)&#34;\]"', page)
    assert shown[:6] == ["owl"] * 6
    assert shown.count("cat") == 24
    [sizes] = facts["figures"]["images"]
    assert sum(count for *_, count in sizes["sizes"]) == 157


def test_maps_have_a_legend_without_their_background(tmp_path, pages):
    from PIL import Image

    for number in range(3):
        classes = np.zeros((40, 50), np.uint8)
        classes[:, 40:] = number
        for folder, pixels in (("images", classes * 0), ("masks", classes)):
            (tmp_path / "shapes" / folder).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(tmp_path / "shapes" / folder / f"{number}.png")

    facts, page = built(tmp_path / "shapes", tmp_path / "out", duplicates="keep")

    [maps] = facts["figures"]["maps"]
    rows = {row["name"]: (row["color"], row["is_drawn"], row["share"]) for row in maps["rows"]}
    assert rows == {
        "0": ("#000000", False, pytest.approx(13 / 15)),
        "1": ("#800000", True, pytest.approx(1 / 15)),
        "2": ("#008000", True, pytest.approx(1 / 15)),
    }
    assert "Every image has 50 x 40 pixels." in page
    assert page.count('class="chip"') == 3
