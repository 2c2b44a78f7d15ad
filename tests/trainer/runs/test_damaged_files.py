"""Damaged files of a run: every command names the file, the damage and a remedy."""

import contextlib
import json
import os
import re

import pytest
from damages import DAMAGES, flip
from hypothesis import given
from hypothesis import strategies as st
from run_files import COMMANDS, seal, unsealed
from tiers import first_in_ci

from trainer.errors import RunDamagedError
from trainer.runs.directory import RunDirectory

CONFIG, TASK, HISTORY = "config.json", "task.json", "history.csv"


def write_text(text):
    def damage(file):
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    damage.__name__ = repr(text[:12])
    return damage


TEXTS = ("[]", "null", "3", "{}", '{"a":' * 200_000, b'{"a": "\xff"}', '{"options": 1e999}', "\0")


OF_CONFIG = [(CONFIG, COMMANDS, damage) for damage in (*DAMAGES, *map(write_text, TEXTS))]
OF_OTHERS = [
    (*each, damage)
    for each in ((TASK, COMMANDS), (HISTORY, ["resume"]), ("model.keras", COMMANDS[1:]))
    for damage in DAMAGES
]


@pytest.mark.parametrize(
    ("name", "commands", "damage"),
    [*first_in_ci(OF_CONFIG, 4), *first_in_ci(OF_OTHERS)],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_every_command_names_the_file(run, command, capsys, name, commands, damage):
    damage(run / name)
    if name in (HISTORY, CONFIG) and damage is flip:
        return  # no checksum: another digit is a valid history, too
    is_lost_history = name == HISTORY and not os.path.lexists(run / name)

    for each in commands:
        code = command(each, run)

        message = capsys.readouterr().err
        if is_lost_history:  # rewritten from here on
            assert code == 0
        else:
            assert code in (2, 3), message
            assert re.fullmatch(rf"error: .*\b{re.escape(name)}\b.*; .+\n", message)


@pytest.mark.parametrize("name", COMMANDS[1:])
def test_a_run_that_was_stopped_before_its_first_model(run, command, capsys, name):
    for model in ("model.keras", "last.keras"):
        (run / model).unlink()

    assert command(name, run) == 2
    assert capsys.readouterr().err == (
        f"error: {run} has no model.keras: its training did not finish; continue it with "
        "`beam-tfrecords-train train --resume`\n"
    )


def test_the_advice_on_a_failed_write_fits_a_command_without_resume(run, command, capsys):
    assert command("evaluate", run, "--report", "/dev/full") == 1
    assert capsys.readouterr().err.endswith(
        "error: No space left on device; fix that, and start again (a training with --resume)\n"
    )


def test_the_folder_of_a_report_is_made(run, command, tmp_path):
    assert command("evaluate", run, "--report", str(tmp_path / "new/page.html")) == 0
    assert "<html" in (tmp_path / "new/page.html").read_text()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("epoch,step,loss\n1,2,0.5\n2,x,0.5\n", "line 3 is not a row of numbers: invalid literal"),
        ("epoch,step,loss\n1,2\n", "line 2 is not a row of numbers"),
        ("epoch,step,loss\n1,2,0.5,4\n", "line 2 is not a row of numbers"),
        ("epoch,step\n1,2\n", "line 2 has no epoch, step or loss"),
        ("epoch,step,loss\n", "it has no rows"),
        ("epoch,step,loss\n1,2,0.123", "its last line is cut off"),
        ('epoch,step,loss\n1,2,"0.5\n', "unexpected end of data"),
    ],
)
def test_history_that_is_none(tmp_path, text, reason):
    (tmp_path / HISTORY).write_text(text)
    with pytest.raises(RunDamagedError, match=f"{HISTORY} is damaged: {reason}.*; delete it to go"):
        RunDirectory(str(tmp_path)).read_history()


@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        (CONFIG, "has history.csv, checkpoints, model.keras, last.keras, but no config.json; copy"),
        ("checkpoints", "history.csv has rows, but there is no checkpoint to go on from; copy"),
    ],
)
def test_what_is_left_of_a_run_is_not_begun_anew(run, command, capsys, lost, reason):
    (run / lost).rename(run.with_name("lost"))
    history = (run / HISTORY).read_bytes()

    assert command("resume", run) == 3
    assert reason in capsys.readouterr().err
    assert not (run / lost).exists()
    assert (run / HISTORY).read_bytes() == history


def places(value, before=()):
    """Yield the path of every value in JSON."""
    yield before
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*before, key))


OTHERS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([-1, 0, 1 << 31, 1 << 63, 1e300, 1e-300, -0.5]),
    st.text(max_size=3),
    st.just([]),
    st.just({}),
    st.lists(st.integers(), max_size=2),
)


@st.composite
def changes(draw, record):
    """Remove, replace or add one value of the record."""
    copy = json.loads(json.dumps(record))
    *path, last = draw(st.sampled_from([place for place in places(copy) if place]))
    parent = copy
    for key in path:
        parent = parent[key]
    if draw(st.booleans()):
        parent[last] = draw(OTHERS)
    else:
        del parent[last]
    return copy


@given(st.data())
def test_whatever_they_state_is_taken_or_named(finished, tmp_path_factory, data):
    run = RunDirectory(str(tmp_path_factory.mktemp("changed")))
    for name, read in ((CONFIG, run.read_config), (TASK, run.read_task)):
        record = data.draw(changes(unsealed(finished / name)))
        seal(run.path / name, record)
        with contextlib.suppress(RunDamagedError):
            read()


def test_a_config_may_be_edited(finished, tmp_path):
    text = (finished / CONFIG).read_text()
    assert '"epochs": ' in text
    (tmp_path / CONFIG).write_text(re.sub(r'"epochs": \d+', '"epochs": 77', text))
    assert RunDirectory(str(tmp_path)).read_config().options.epochs == 77

    (tmp_path / CONFIG).write_text(re.sub(r'"epochs": \d+', '"epochs": "many"', text))
    with pytest.raises(RunDamagedError) as caught:
        RunDirectory(str(tmp_path)).read_config()
    assert str(caught.value) == (
        f'{tmp_path / CONFIG}: options.epochs is "many", not a whole number or null; '
        "correct it or copy it back, or train again with --overwrite"
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"class_weights": [1.0]}, "has 1 number as class_weights, but the task has "),
        ({"window": 0}, ": window is 0, not a whole number from 1; correct it or copy it back"),
        ({"group": -1}, ": group is -1, not a whole number from 0; correct it or copy it back"),
    ],
)
def test_values_that_suit_no_training(run, command, capsys, changed, message):
    record = json.loads((run / CONFIG).read_text())
    (run / CONFIG).write_text(json.dumps(record | changed))

    assert command("resume", run) in (2, 3)
    assert f"{CONFIG}{'' if message[0] == ':' else ' '}{message}" in capsys.readouterr().err
