"""What follows from the rates of the stages."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from trainer.tuner.ladder import Remedy, as_lines, find_bound, seconds_by_stage

LADDER = {"read": 10_000, "parse": 5_000, "decode": 500, "batch": 400}


@pytest.mark.parametrize(
    ("ladder", "stage", "share", "rate"),
    [
        pytest.param(LADDER, "decode", 0.72, 1_429, id="photographs"),
        pytest.param({"read": 100, "batch": 90}, "read", 0.9, 900, id="a slow disk"),
        pytest.param({"read": 100}, "read", 1.0, float("inf"), id="one stage"),
        pytest.param({"read": 100, "parse": 120, "batch": 50}, "read", 0.5, 100, id="noise"),
    ],
)
def test_the_bound(ladder, stage, share, rate):
    bound = find_bound(ladder)

    assert bound.stage == stage
    assert bound.share == pytest.approx(share, abs=0.005)
    assert bound.records_per_s == pytest.approx(rate, abs=1)


SLOWER, FASTER, LARGER = (
    Remedy(text=f"build {rate}", records_per_s=rate, record_bytes=size)
    for rate, size in ((400, 8), (800, 9), (870, 99))
)
KEPT = Remedy(text="train --cache memory", records_per_s=800)


@pytest.mark.parametrize(
    ("ladder", "tried", "remedy"),
    [
        pytest.param(
            LADDER, [SLOWER, FASTER], "build 800 (800 records/s, 9 bytes a record)", id="best"
        ),
        pytest.param(LADDER, [FASTER, LARGER], "build 800", id="the smallest of the fast ones"),
        pytest.param(LADDER, [FASTER, LARGER, KEPT], "--cache", id="what needs no more of a disk"),
        pytest.param(LADDER, [SLOWER], "more CPU cores", id="nothing that was tried pays"),
        pytest.param(LADDER, [], "more CPU cores", id="nothing was tried"),
        pytest.param({"read": 100, "decode": 90}, [FASTER], "faster disk", id="reading"),
    ],
)
def test_the_remedy_was_tried(ladder, tried, remedy):
    assert remedy in find_bound(ladder, tried).remedy


def test_a_stage_takes_no_less_than_nothing():
    seconds = seconds_by_stage({"read": 100, "parse": 120, "batch": 50})

    assert seconds == pytest.approx({"read": 0.01, "parse": 0.0, "batch": 0.01})


def test_lines():
    assert as_lines(LADDER)[3].split() == ["decode", "500", "1,800"]


def test_the_picture_has_a_bar_for_each_stage():
    rates = {"read": 10_000, "parse & so on": 5_000, "decode": 500, "batch, kept": 6_000}
    told = json.dumps({"records_per_s": rates, "bounds": "decode"})
    script = Path(__file__).parents[3] / "benchmarks" / "tune_picture.py"

    drawn = subprocess.run([sys.executable, script], input=told, capture_output=True, text=True)

    assert drawn.returncode == 0, drawn.stderr
    bars = ElementTree.fromstring(drawn.stdout).findall("{http://www.w3.org/2000/svg}rect")[1:]
    widths = [float(bar.get("width", 0)) for bar in bars]
    assert len(widths) == 4
    assert max(widths) == widths[0]
    assert widths[1] == pytest.approx(widths[0] / 2, abs=0.1)
    assert [bar.get("fill") for bar in bars].count(bars[2].get("fill")) == 1  # the bound
