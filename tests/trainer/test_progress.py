"""Bars, lines and training speed on stderr."""

import io

import pytest
from tqdm import tqdm

from trainer.progress import Pace, Progress, time_text, whole_parts


@pytest.mark.parametrize("quiet", [False, True])
def test_lines_come_every_few_seconds_on_stderr(monkeypatch, capsys, quiet):
    seconds = iter([0.0, 1.0, 6.0, 6.0, 7.0])
    monkeypatch.setattr("trainer.progress.time.monotonic", lambda: next(seconds))
    progress = Progress(quiet=quiet)

    progress.start("epoch 1/2", 30)
    for _ in range(3):
        progress.advance(10, {"loss": 1.0})
    progress.finish()
    progress.say("done")
    progress.warn("a checkpoint is damaged")

    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [] if quiet else ["epoch 1/2: step 20/30, loss 1.0000", "done"]
    assert captured.err.splitlines() == [*lines, "warning: a checkpoint is damaged"]


def test_the_rate_and_the_time_left_fit_80_columns(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("trainer.progress.sys.stderr", terminal)
    meter = tqdm.format_meter
    monkeypatch.setattr(tqdm, "format_meter", lambda _, **facts: meter(**{**facts, "ncols": 80}))
    progress = Progress()
    progress.start("epoch 112/256", 1000)
    progress._bar.mininterval = 0
    values = {"loss": 0.6931, "accuracy": 0.8125}
    progress.advance(500, values, "1:02:05 left, 12,240 images/s", "learning rate 0.00095")
    progress.finish()
    assert "1:02:05 left, 12,240 images/s" in terminal.getvalue()


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (29, "0:12 left, 9 images/s, loss 1"),
        (28, "0:12 left, 9 images/s"),
        (12, "0:12 left"),
        (3, "0:12 left, 9 images/s, loss 1"),
    ],
)
def test_a_text_ends_with_a_whole_part(width, shown):
    assert whole_parts("0:12 left, 9 images/s, loss 1", width) == shown


class Terminal(io.StringIO):
    def isatty(self):
        return True


def paced(*events, unit="images"):
    """Return the pace after calls of (seconds, steps, seconds of waiting), with batches of 10.

    A number is the duration of an epoch's end.
    """
    clock = [0.0]
    pace = Pace(10, unit, lambda: clock[0])
    pace.start()
    for event in events:
        if isinstance(event, float):
            clock[0] += event
            pace.start()
            continue
        seconds, steps, waiting_s = event
        clock[0] += seconds
        pace.add(steps, waiting_s)
    return pace


def test_the_first_call_compiles_and_does_not_count():
    pace = paced((30.0, 8, 1.0))
    assert (pace.total.steps, pace.summary(), pace.scalars()) == (0, "", {})
    assert pace.facts(0.001, None) == ("", "learning rate 0.001")


def test_facts_are_of_the_last_seconds():
    pace = paced((30.0, 8, 0.0), *[(1.0, 1, 0.0)] * 20, *[(0.1, 1, 0.05)] * 200)

    facts = "1:05 left, 100 images/s", "waiting 50%, learning rate 0.0001"
    assert pace.facts(1e-4, 65.0) == facts
    assert pace.scalars() == pytest.approx({"images_per_s": 100, "waiting_for_input": 0.5})
    assert pace.seconds_for(20) == pytest.approx(2.0)
    assert pace.total.steps == 220


def test_ends_of_epochs_count_in_what_is_left_and_not_in_the_pace():
    pace = paced((9.0, 1, 0.0), 100.0, (2.0, 20, 0.0), 9.0, (2.0, 20, 0.0), 3.0)

    assert pace.total.steps_per_s == 10.0
    assert pace.seconds_for(40, 2) == pytest.approx(4.0 + 2 * 3.0)


_RATE, _TUNE = "20 records/s in training", "`beam-tfrecords-train tune` to find the bottleneck"


@pytest.mark.parametrize(
    ("steps", "waiting_s", "expected"),
    [
        (1, None, _RATE),
        (1, 0.25, f"{_RATE}, 50% of the time waiting for input"),
        (1000, 125.0, f"{_RATE}, 25% of the time waiting for input"),
        (1000, 250.0, f"{_RATE}, 50% of the time waiting for input; run {_TUNE} of the input"),
    ],
)
def test_the_summary(steps, waiting_s, expected):
    pace = paced((9.0, 1, waiting_s), (steps / 2, steps, waiting_s), unit="records")
    assert pace.summary() == expected


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (65, "1:05"), (3725, "1:02:05")])
def test_times(seconds, text):
    assert time_text(seconds) == text
