"""Commands killed at random moments and repeated give undisturbed results."""

import pytest
import storm


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return storm.make_inputs(tmp_path_factory.mktemp("inputs"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=case.name,
            marks=() if case.name == "build --overwrite" else pytest.mark.nightly,
        )
        for case in storm.CASES
    ],
)
def test_killed_and_run_again(case, inputs, tmp_path):
    score = storm.storm(case, range(1), inputs, tmp_path)
    assert score.faults == []
    assert score.equal == 1
