"""The page of a run: when it is drawn, and that all of it is of model.keras."""

import re
import types

import keras
import pytest
from following import linear
from testdata.make_golden import GOLDEN
from tiers import first_in_ci

import trainer
from trainer.options.command_options import EvaluateConfig
from trainer.runs import run_page
from trainer.runs.trained import evaluate
from trainer.tasks.figures import Example

GOOD, BAD = 0, 2  # the class that the model always predicts


class Predicts(keras.callbacks.Callback):
    """Makes the model of each epoch predict one class: the wrong one with a large loss."""

    def __init__(self, classes):
        super().__init__()
        self._classes = classes

    def on_epoch_begin(self, epoch, logs=None):
        bias = [0.0, 0.0, 0.0]
        bias[self._classes[epoch]] = 0.1 if self._classes[epoch] == GOOD else 1000.0
        self.model.set_weights([self.model.get_weights()[0] * 0, keras.ops.array(bias)])


@pytest.fixture
def validations(monkeypatch):
    """The number of validations of the whole split, as a list of ones."""
    made, validate = [], run_page.RunPage.validate

    def counted(page, num_batches=None, callbacks=None):
        made.extend([1] * (num_batches is None))
        return validate(page, num_batches, callbacks)

    monkeypatch.setattr(run_page.RunPage, "validate", counted)
    return made


def predicted(page):
    """Return how often each class was predicted, by the page's confusion matrix."""
    [table] = re.findall(r'<table class="confusion">.*?</table>', page, re.DOTALL)
    counts = [int(each) for each in re.findall(r"<td[^>]*>(\d+) <small>", table)]
    return [sum(counts[column::3]) for column in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("classes", "resumed_at", "num_validations", "saved"),
    first_in_ci(
        [
            pytest.param([GOOD, BAD], None, 2, 1, id="the best is not the last"),
            pytest.param([BAD, GOOD], None, 2, 2, id="the best is the last"),
            pytest.param([GOOD, BAD, BAD], 2, 4, 1, id="resumed, the best came before"),
            pytest.param([BAD, BAD, GOOD], 2, 3, 3, id="resumed, the best came after"),
        ]
    ),
)
def test_the_page_describes_the_saved_model(
    colors, tmp_path, capsys, validations, classes, resumed_at, num_validations, saved
):
    options = {
        **{"model": linear, "image_size": (16, 16), "batch_size": 16, "best_by": "loss"},
        **{"learning_rate": 1e-9, "callbacks": [Predicts(classes)], "steps_per_epoch": 2},
    }
    path = tmp_path / "run"
    for epochs in filter(None, [resumed_at, len(classes)]):
        capsys.readouterr()
        trainer.train(colors, path, epochs=epochs, **options)

    page, said = (path / "report.html").read_text(), capsys.readouterr().err
    assert predicted(page) == [13, 0, 0]  # of the 13 records of the validation split
    assert page.count(f"Split validation, model.keras of epoch {saved}.") == 2
    assert f"The vertical line is epoch {saved}, whose model is model.keras." in page
    assert "follow when the training ends" not in page
    assert len(validations) == num_validations
    [sentence] = re.findall('class="verdict">(.*?)</p>', page)
    how_it_went, _, compared = sentence.partition("; the model does not beat")
    assert f"best by the loss at epoch {saved} of {len(classes)}" in how_it_went
    assert f"\n{how_it_went}\nwarning: the model does not beat{compared}\n" in said
    tested = tmp_path / "test.html"
    evaluate(EvaluateConfig(data=str(colors), run_path=str(path), split="test", report=str(tested)))
    assert f"model.keras of epoch {saved} on " in tested.read_text()


@pytest.mark.nightly
def test_a_page_before_the_end_has_no_figures_of_another_epoch(colors, tmp_path, monkeypatch):
    class Fails(Predicts):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 2:
                raise RuntimeError

    path = tmp_path / "run"
    options = {
        **{"model": linear, "image_size": (16, 16), "batch_size": 16, "best_by": "loss"},
        **{"learning_rate": 1e-9, "steps_per_epoch": 2},
    }
    trainer.train(colors, path, epochs=2, callbacks=[Predicts([GOOD, BAD])], **options)
    with pytest.raises(RuntimeError):
        trainer.train(colors, path, epochs=3, callbacks=[Fails([GOOD, BAD, BAD])], **options)

    page = (path / "report.html").read_text()
    assert "The figures of epoch 1 follow when the training ends." in page
    assert "model.keras of epoch" not in page


@pytest.mark.parametrize(
    ("image", "source"),
    [
        pytest.param(True, "images/2.jpg", id="the image's file"),
        pytest.param(False, "metadata.jsonl:3", id="the line of a table"),
    ],
)
def test_an_example_names_where_it_comes_from(image, source):
    dataset = trainer.open(GOLDEN)
    age, picture = types.SimpleNamespace(name="age"), types.SimpleNamespace(name="image")
    task = types.SimpleNamespace(images=[picture] if image else [], inputs={"age": age})
    [shown] = run_page._pictured(task, dataset, "train", [Example(number=0, text="wrong")])
    assert shown.source == source
    assert [*shown.pictures] == [""] * image
    assert [*shown.values] == ([] if image else ["age"])


def test_drawing_takes_a_twentieth_of_the_time_and_ends_with_the_last_validation(monkeypatch):
    clock, drawn, history = [0], [], []

    def write(page, rows):
        drawn.append(len(rows))
        clock[0] += 1

    monkeypatch.setattr(run_page.RunPage, "_write", write)
    monkeypatch.setattr(run_page, "time", types.SimpleNamespace(monotonic=lambda: clock[0]))
    page = run_page.RunPage(None, None)
    with page.completed():
        for _ in range(30):
            clock[0] += 1
            history.append({"loss": 1.0})
            page.draw(history)
    assert drawn == [1, 20, 30]
