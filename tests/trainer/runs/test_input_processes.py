"""How many processes make the batches of a run."""

import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.__main__ import main
from trainer.runs import input_processes
from trainer.runs.input_processes import faster_processes, rate


def endless(pause_s):
    """Batches, each after a pause."""

    def batches():
        while True:
            time.sleep(pause_s)
            yield 1

    return tf.data.Dataset.from_generator(batches, output_signature=tf.TensorSpec([], tf.int32))


@pytest.mark.parametrize(
    ("rates", "expected", "said"),
    [
        ({1: 200, 2: 800}, 2, "2 input processes: measured 200 records/s by 1, 800 records/s by 2"),
        ({1: 200, 2: 219}, 1, "1 input process: measured 200 records/s by 1, 219 records/s by 2"),
    ],
)
def test_several_are_taken_where_they_are_measured_faster(monkeypatch, rates, expected, said):
    monkeypatch.setattr(input_processes, "cpu_count", lambda: 2)
    monkeypatch.setattr(input_processes, "rate", lambda rate, batch_size, seconds: rate)
    messages = []
    chosen = faster_processes(rates.get, 4, keeps_in_memory=False, say=messages.append)
    assert (chosen, messages) == (expected, [said])


def test_the_rate_of_endless_batches():
    assert rate(endless(0.001), 4, 0.1) > 0


def test_one_is_taken_where_images_are_kept_in_memory():
    messages = []
    assert faster_processes(endless, 4, keeps_in_memory=True, say=messages.append) == 1
    assert messages == ["one input process: it keeps decoded images in memory"]


@pytest.mark.slow
@pytest.mark.parametrize("count", ["2", "auto"])
def test_a_run_goes_on_to_the_weights_of_one_process(colors, tmp_path, count):
    """Of several, some steps are done, and a second command does the others."""
    options = [
        *("--data", str(colors), "--batch-size", "8", "--image-size", "16", "--seed", "3"),
        *("--augment", "rand", "--mixup", "0.4", "--devices", "cpu", "--cache", "none"),
    ]
    one, several = str(tmp_path / "one"), str(tmp_path / "several")
    assert main(["train", "--output", one, "--epochs", "2", *options]) == 0
    for epochs in ("1", "2"):
        more = [] if epochs == "1" else ["--resume"]
        given = ["--output", several, "--epochs", epochs, "--input-processes", count, *more]
        assert main(["train", *given, *options]) == 0

    first, second = (keras.saving.load_model(f"{run}/model.keras") for run in (one, several))
    for expected, found in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_array_equal(expected, found)
