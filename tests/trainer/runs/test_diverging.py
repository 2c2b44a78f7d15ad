"""What a training says that cannot learn, or no longer does."""

import pytest
from testdata.make_golden import GOLDEN

from trainer.__main__ import main
from trainer.runs import choices
from trainer.tasks import Task
from trainer.tasks.targets import BoxesTarget, ManyClasses, OneClass


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        (OneClass(name="label", classes=("a",)), ["label has only one class: there is nothing to"]),
        (OneClass(name="label", classes=("a", "b")), []),
        (ManyClasses(name="tags", classes=("a",)), []),
        (BoxesTarget(name="objects", classes=("cell",)), []),
    ],
)
def test_one_class_is_too_few_where_it_excludes_others(goal, expected):
    said = [*choices.remarks(Task(name="t", inputs={}, goal=goal), own_model=False)]

    assert [line[: len(start)] for line, start in zip(said, expected, strict=True)] == expected


@pytest.mark.slow
def test_the_step_is_named(tmp_path, capsys):
    """With such a rate the second step has the first one's weights."""
    arguments = [
        *("train", "--data", str(GOLDEN), "--output", str(tmp_path / "run"), "--epochs", "3"),
        *("--steps-per-epoch", "4", "--batch-size", "4", "--devices", "cpu", "--quiet"),
        *("--optimizer", "sgd", "--learning-rate", "1e38", "--warmup-steps", "0"),
    ]

    assert main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the loss of step 2 (epoch 1) is ")
    assert line.endswith("; lower --learning-rate, or clip with --clip-norm 1")
