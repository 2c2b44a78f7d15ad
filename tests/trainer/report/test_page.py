"""Reports of runs: content, and escaping of hostile names."""

import math

import pytest

from trainer.errors import ConfigError, UnknownNameError
from trainer.metrics import Metric
from trainer.options.train_options import TrainConfig
from trainer.report.history import Best, best_by, curves, verdict
from trainer.report.page import Pictured, Sections, chart, command, html, thinned
from trainer.tasks.figures import interval

HOSTILE = "<script>alert(1)</script>"


def rows(losses, val_losses=None):
    made = [{"epoch": n, "step": 7 * n, "loss": loss} for n, loss in enumerate(losses, start=1)]
    for row, loss in zip(made, val_losses or (), strict=False):
        row |= {"val_loss": loss, "val_accuracy": 1 - loss / 10}
    return made


LEAST, MOST = Best(), Best("accuracy", is_least=False)


@pytest.mark.parametrize(
    ("losses", "val_losses", "said"),
    [
        (
            *([3, 2, 1], [3, 2, 1]),
            "accuracy 0.9 on validation, best by the loss at epoch 3 of 9",
        ),
        (
            *([3, 2, 1], [3, 1, 2]),
            "accuracy 0.9 on validation, best by the loss at epoch 2 of 9; epoch 3 has 0.8; "
            "no improvement since then",
        ),
        (
            *([3, 2, 2, 1, 0.5], [3, 1, 1.2, 1.5, 1.7]),
            "accuracy 0.9 on validation, best by the loss at epoch 2 of 9; epoch 5 has 0.83; "
            "overfitting since then: training loss falls, validation loss rises",
        ),
        ([3, 2], None, "loss 2 on the training data at epoch 2 of 9, without validation"),
        ([2, 3], None, "loss 3 on the training data at epoch 2 of 9, without validation"),
        ([math.nan], None, "loss nan on the training data at epoch 1 of 9, without validation"),
    ],
)
def test_the_sentence_is_about_the_saved_model(losses, val_losses, said):
    assert verdict(rows(losses, val_losses), LEAST, 9) == said


def test_a_run_of_fewer_epochs_than_it_has_counts_its_own():
    assert "best by the loss at epoch 3 of 3" in verdict(rows([3, 2, 1], [3, 2, 1]), LEAST, 2)


IMPROVING, NO_BETTER, OVER_FITS, NOTHING = (
    *("it was still improving", "no improvement since then", "overfitting since then"),
    "of 9",
)


@pytest.mark.parametrize(
    ("losses", "val_losses", "said"),
    [
        pytest.param([4, 3, 2, 1], [4, 3, 2, 1], IMPROVING, id="a line"),
        pytest.param([3, 2, 1], [3, 2, 1], NOTHING, id="too few epochs"),
        pytest.param([9] * 9, [5, 4, 3, 2, 1, 1.1, 0.9, 1.1, 0.89], NOTHING, id="noise"),
        pytest.param([9] * 9, [9, 5, 5, 5, 5, 4, 3.2, 1.8, 2], IMPROVING, id="a trend in noise"),
        pytest.param([9] * 9, [9, 5, 1, 1, 1, 1, 0.999, 0.998, 0.997], NOTHING, id="negligible"),
        pytest.param([9] * 9, [9, 1, 8, 8, 8, 5, 4, 3, 2], NO_BETTER, id="better only earlier"),
        pytest.param([3, 2, 2, 2, 2], [3, 1, 1.2, 1.5, 1.7], NO_BETTER, id="not learning either"),
        pytest.param([3, 2, 1, 0.9, 0.8], [2, 1, 1.004, 1.006, 1.008], NO_BETTER, id="flat"),
        pytest.param([5, 4, 3, 2, 1, 0.9], [1.1, 1, 1.2, 1, 1.3, 1.1], NO_BETTER, id="noisy"),
        pytest.param([3, 2, 1, 1, 1], [3, 1, 2, math.nan, 2], NO_BETTER, id="no number"),
        pytest.param([3, 2, 1, 1], [4, 3, math.nan, 1], NOTHING, id="a last one after none"),
        pytest.param([3, 2, 1], [3, 1, 1], NO_BETTER, id="equal"),
        pytest.param([3, 2, 2, 1, 0.5], [3, 1, 1.2, 1.5, 1.7], OVER_FITS, id="overfitting"),
    ],
)
def test_how_it_went(losses, val_losses, said):
    history = rows(losses, val_losses)
    for best in (LEAST, MOST):  # accuracy falls as the loss rises
        assert said in verdict(history, best, 9).partition(" at epoch")[2]
        assert (said in (IMPROVING, NOTHING)) == ("since then" not in verdict(history, best, 9))
        assert (said == IMPROVING) == (IMPROVING in verdict(history, best, 9))


def test_the_sentence_is_on_the_metric_that_tells_the_best():
    row = {"epoch": 1, "step": 3, "loss": 2.0, "val_loss": 2.0}
    history = [row | {"val_mAP": 0.1, "val_F1": 0.3}]
    assert verdict(history, LEAST, 5).startswith("mAP 0.1 on validation")
    assert verdict(history, Best("F1", is_least=False), 5).startswith("F1 0.3 on validation")


def test_curves_have_nothing_that_is_not_finite():
    history = [
        {"epoch": 1, "step": 5, "loss": 3.0, "val_loss": 4.0},
        {"epoch": 2, "step": 10, "loss": 2.0, "val_loss": math.inf},
        {"epoch": 3, "step": 15, "loss": 1.0, "val_loss": 2.0},
    ]
    found = curves(history)
    assert found == {
        "loss": {"train": [(1, 3.0), (2, 2.0), (3, 1.0)], "validation": [(1, 4.0), (3, 2)]}
    }


def test_charts_stay_in_their_frame():
    made = chart("loss", {"train": [(1, 5.0), (3, 1.0), (2, math.nan)]}, mark=2)
    (line,) = made["lines"]
    assert (line["points"], made["mark"]) == ("0,0 300,110", 150)
    assert chart("loss", {"train": []})["lines"] == []
    assert chart("loss", {"train": [(1, 2.0)]})["lines"][0]["points"] == "150,0"
    many = thinned([(n, 2.0 * n) for n in range(1_000)], 100)
    assert (len(many), many[0], many[-1]) == (100, (4.5, 9.0), (994.5, 1989.0))


@pytest.mark.parametrize(
    ("points", "x", "y"),
    [
        ([(1, 5.0), (3, 1.0)], ["1", "2", "3"], ["1", "2", "3", "4", "5"]),
        ([(1, 0.012), (40, 1.52)], ["10", "20", "30", "40"], ["0", "0.5", "1", "1.5", "2"]),
        ([(1, 3670.2), (2, 23_950.4)], ["1", "2"], ["0", "5000", "10,000", "15,000"]),
        ([(1, 1.0), (2, 1.0)], ["1", "2"], ["0.8", "0.85"]),
        ([(1, -3.0), (2, 0.0)], ["1", "2"], ["-3", "-2", "-1", "0"]),
        ([(5, 0.0)], ["5"], ["0", "0.2"]),
        ([(1, 1.4e9), (2, 6e8)], ["1", "2"], ["6e8", "8e8", "1e9", "1.2e9"]),
    ],
)
def test_axes_have_ticks_at_round_numbers(points, x, y):
    made = chart("loss", {"train": points}, whole=True)
    assert [label for _, label in made["x"]] == x
    assert [label for _, label in made["y"]][: len(y)] == y
    for axis, size in (("x", 300), ("y", 110)):
        assert all(0 <= place <= size for place, _ in made[axis])


def test_the_command_repeats_the_training_on_its_data_without_secrets():
    options = TrainConfig(
        data="https://me:secret@host/data", output="/home/me/run", epochs=3, image_size=(64, 48)
    )
    assert " ".join(command(options)) == (
        "beam-tfrecords-train train --data 'https://***@host/data' --output RUN --image-size 48x64 "
        "--epochs 3"
    )


def test_names_of_others_are_escaped():
    row = {"name": HOSTILE, "records": 1, "precision": 1, "recall": 1, "f1": None}
    classes = {
        "rows": [row],
        "curves": {HOSTILE: [(0.0, 1.0), (1.0, 1.0)]},
        "confusion": [[1]],
        "confusions": [],
    }
    for pictures in ({"": "data:,"}, {}):
        named = {"source": HOSTILE, "values": {HOSTILE: HOSTILE}}
        examples = [Pictured(pictures=pictures, text=HOSTILE, **named)]
        page = html(
            HOSTILE,
            TrainConfig(data="d", output="o", target=HOSTILE),
            rows([2, 1], [2, 1]),
            Best(),
            sentence=HOSTILE,
            task="classification",
            sections=Sections(split=HOSTILE, examples=examples, figures={"classes": classes}),
        )
        assert HOSTILE not in page
        assert page.count("&lt;script&gt;alert") > 7
        assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("losses", "num_drawn"),
    [
        pytest.param([-1.7e308, 1.7e308, 1.0], 1, id="a range beyond all numbers"),
        pytest.param([1e299] * 400, 300, id="a sum beyond all numbers"),
        pytest.param([0.0, 5e-324], 2, id="a step of 0"),
    ],
)
def test_a_chart_of_losses_at_the_end_of_all_numbers(losses, num_drawn):
    [line] = chart("loss", {"loss": [*enumerate(losses)]})["lines"]
    assert len(line["points"].split()) == num_drawn
    assert "nan" not in line["points"]
    assert "inf" not in line["points"]


METRICS = ("loss", "mae", "mAP", "IoU/a:max", "threshold", "mine", "cost", "gain")
OWN = {
    "mine": Metric(name="mine"),
    "cost": Metric(name="cost", best="min"),
    "gain": Metric(name="gain", best="max"),
}


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("loss", Best("loss", True)),
        ("mae", Best("mae", True)),
        ("mAP", Best("mAP", False)),
        ("mAP:min", Best("mAP", True)),
        ("mine:max", Best("mine", False)),
        ("cost", Best("cost", True)),
        ("gain", Best("gain", False)),
        ("IoU/a:max", Best("IoU/a:max", False)),
        ("IoU/a:max:min", Best("IoU/a:max", True)),
    ],
)
def test_what_is_stated(stated, expected):
    assert best_by(stated, METRICS, OWN, validated=True) == expected


@pytest.mark.parametrize(
    ("stated", "validated", "error", "message"),
    [
        ("map", True, UnknownNameError, "metric, for --best-by, 'map'.*mAP"),
        (
            "val_loss",
            True,
            UnknownNameError,
            "choose from: loss, mae, mAP, IoU/a:max, mine, cost, gain",
        ),
        ("mAP:most", True, UnknownNameError, "'mAP:most'"),
        ("mine", True, ConfigError, "--best-by mine:min or mine:max"),
        ("threshold", True, UnknownNameError, "'threshold'"),
        ("F1", False, UnknownNameError, "metric without a validation split, for --best-by"),
    ],
)
def test_what_is_refused(stated, validated, error, message):
    with pytest.raises(error, match=message):
        best_by(stated, METRICS, OWN, validated=validated)


def test_the_best_row():
    assert Best().rank({"loss": 2.0}) == 2.0
    assert Best().rank({"loss": 2.0, "val_loss": 1.0}) == 1.0
    assert Best("mAP", False).rank({"loss": 2.0}) == float("inf")
    rows = [{"loss": loss, "val_loss": loss, "val_accuracy": 0.9} for loss in (0.5, 0.2, 0.3, 0.2)]
    assert Best("accuracy", is_least=False).place(rows) == 1  # ties: lowest loss


def test_an_accuracy_has_its_interval():
    history = [{"epoch": 1, "step": 9, "loss": 1.0, "val_loss": 1.0, "val_accuracy": 10 / 14}]
    known = {"accuracy": interval(10 / 14, 14)}
    said = verdict(history, Best("accuracy", is_least=False), 1, 14, known)

    # Wilson's interval of 10 in 14.
    assert said.startswith("accuracy 0.7143 (0.4535 to 0.8828, of 14 records) on validation")
