"""What may be tuned, in a file."""

import pytest
from damages import DAMAGES

from trainer.errors import ConfigError, TrainerError
from trainer.tuning import Tuning


def test_settings_come_back(tmp_path):
    file = tmp_path / "tuning.json"
    file.write_text('{"parallel_calls": 4, "cache": "disk"}')

    tuning = Tuning.read(str(file))

    assert tuning == Tuning(parallel_calls=4, cache="disk")
    assert tuning.to_json() == {"parallel_calls": 4, "cache": "disk"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('{"seed": 1}', "there is no setting 'seed' in", id="decides the order"),
        pytest.param('{"prefetch": 0}', "prefetch=0: give a whole number", id="none"),
        pytest.param('{"prefetch": 1.5}', "prefetch=1.5: give a whole number", id="a fraction"),
        pytest.param('{"cache": "tape"}', "there is no cache .tape", id="no such place"),
        pytest.param('{"prefetch": [1]}', r"prefetch=\[1\]: give a whole number", id="no number"),
        pytest.param('{"prefetch": 1000000}', "from 1 to 65,536", id="more than fits"),
        pytest.param('{"cache": {}}', "there is no cache", id="no text"),
        pytest.param("[1]", "cannot be used: it holds a list of 1, not an object", id="a list"),
        pytest.param("{", "cannot be used: it is not JSON", id="no JSON"),
    ],
)
def test_what_cannot_be_tuned(tmp_path, text, message):
    file = tmp_path / "tuning.json"
    file.write_text(text)

    with pytest.raises(TrainerError, match=message):
        Tuning.read(str(file))


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file(tmp_path, damage):
    file = tmp_path / "tuning.json"
    file.write_text('{"parallel_calls": 4, "prefetch": 2}\n')
    damage(file)

    with pytest.raises(ConfigError, match=r"--tuning .*tuning.json cannot be used: .*; `python|no"):
        Tuning.read(str(file))
