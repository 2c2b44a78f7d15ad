"""How fast a training goes."""

import pytest

from trainer.training.pace import Pace, time_text


def paced(*calls, unit="images"):
    """The pace after calls of (seconds, steps, seconds of waiting), with batches of 10."""
    clock = [0.0]
    pace = Pace(10, unit, lambda: clock[0])
    pace.start()
    for seconds, steps, waiting_s in calls:
        clock[0] += seconds
        pace.add(steps, waiting_s)
    return pace


def test_the_first_call_compiles_and_does_not_count():
    assert paced((30.0, 8, 1.0)).total.steps == 0
    assert paced((30.0, 8, 1.0)).facts(0.001, None) == "learning rate 0.001"
    assert paced((30.0, 8, 1.0)).summary() == ""
    assert paced((30.0, 8, 1.0)).scalars() == {}


def test_facts_are_of_the_last_seconds():
    pace = paced((30.0, 8, 0.0), *[(1.0, 1, 0.0)] * 20, *[(0.1, 1, 0.05)] * 200)

    assert pace.facts(1e-4, 65.0) == "100 images/s, waiting 50%, learning rate 0.0001, 1:05 left"
    assert pace.scalars() == pytest.approx({"images_per_s": 100, "waiting_for_input": 0.5})
    assert pace.seconds_for(20) == pytest.approx(2.0)
    assert pace.total.steps == 220


def test_what_is_left_has_the_ends_of_epochs():
    clock = [0.0]
    pace = Pace(10, "images", lambda: clock[0])
    pace.add(1, 0.0)  # compiles
    for seconds_of_end in (9.0, 3.0):
        pace.start()
        clock[0] += 2.0
        pace.add(20, 0.0)
        clock[0] += seconds_of_end
    pace.start()

    assert pace.seconds_for(40, 2) == pytest.approx(4.0 + 2 * 3.0)


@pytest.mark.parametrize(
    ("waiting_s", "expected"),
    [
        (None, "20 records/s in training"),
        (0.0, "20 records/s in training, 0% of the time waiting for input"),
        (
            0.25,
            "20 records/s in training, 50% of the time waiting for input; run "
            "`beam-tfrecords-train tune` to find the bottleneck of the input",
        ),
    ],
)
def test_the_summary(waiting_s, expected):
    assert paced((9.0, 1, waiting_s), (0.5, 1, waiting_s), unit="records").summary() == expected


def test_what_comes_between_does_not_count():
    clock = [0.0]
    pace = Pace(10, "images", lambda: clock[0])
    for seconds in (1.0, 1.0):
        clock[0] += 100.0  # validation
        pace.start()
        clock[0] += seconds
        pace.add(1, 0.0)

    assert pace.total.steps_per_s == 1.0


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (65, "1:05"), (3725, "1:02:05")])
def test_times(seconds, text):
    assert time_text(seconds) == text
