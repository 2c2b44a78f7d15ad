"""What a training says that no longer learns."""

import pytest
from testdata.make_golden import GOLDEN

from trainer.commands import main


@pytest.mark.slow
def test_the_step_is_named(tmp_path, capsys):
    """With such a rate the second step has the first one's weights."""
    arguments = [
        *("train", "--data", str(GOLDEN), "--output", str(tmp_path / "run"), "--epochs", "3"),
        *("--steps-per-epoch", "4", "--batch-size", "4", "--devices", "cpu", "--quiet"),
        *("--optimizer", "sgd", "--learning-rate", "1e38", "--warmup-steps", "0"),
    ]

    assert main(arguments) == 1
    *_, line = capsys.readouterr().err.splitlines()  # after warnings of few records
    assert line.startswith("error: the loss of step 2 (epoch 1) is ")
    assert line.endswith("; lower --learning-rate, or clip with --clip-norm 1")
