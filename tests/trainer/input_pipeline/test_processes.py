"""Several processes make the batches that one makes, and nothing stays of them."""

import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import tensorflow as tf

import trainer
from trainer.autograph import unconverted
from trainer.errors import ConfigError
from trainer.input_pipeline.tensorflow_errors import explain

TEXT = {"name": "name", "kind": "text", "dtype": "string", "shape": [], "key": "name"}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory, write_dataset, schema, colored_records):
    """50 records with an image, texts and lists of boxes of 0 to 4."""
    records = [
        {
            **record,
            "name": b"n" * number,
            **{f"image/object/bbox/{side}": [0.1, 0.2, 0.3, 0.4][: number % 5] for side in LOW},
            **{f"image/object/bbox/{side}": [0.5, 0.6, 0.7, 0.8][: number % 5] for side in HIGH},
            "image/object/class/label": [1, 2, 1, 2][: number % 5],
            "image/object/difficult": [0, 1, 0, 1][: number % 5],
            "image/object/area": [0.5, 0.5, 0.5, 0.5][: number % 5],
        }
        for number, record in enumerate(colored_records(50))
    ]
    features = [schema["image"], schema["label"], schema["boxes"], TEXT]
    path = tmp_path_factory.mktemp("mixed") / "1.0.0"
    return trainer.open(write_dataset(path, features, {"train": records}))


LOW, HIGH = ("xmin", "ymin"), ("xmax", "ymax")


def brighter(image, seed):
    """Of a user: AutoGraph turns its `if` into a graph's."""
    more = tf.random.stateless_uniform([], seed, 0, 60, tf.int32)
    if more > 30:
        more = more // 2
    return tf.cast(tf.minimum(tf.cast(image, tf.int32) + more, 255), tf.uint8)


def flat(batches):
    return [
        [each.numpy() for each in tf.nest.flatten(batch, expand_composites=True)]
        for batch in batches
    ]


def children():
    return psutil.Process().children()


def test_batches_are_those_of_one_process_bit_for_bit(mixed, capfd):
    options = {"batch_size": 4, "image_size": 16, "boxes": "ragged", "augment": brighter}
    options["prepare"] = unconverted(lambda batch: batch)  # a wrapper's module is not its own
    order = {"shuffle": True, "seed": 3, "repeat": 2, "first_record": 7}
    one = mixed.batches(**options, **order)
    before = children()
    two = mixed.batches(**options, **order, input_processes=2)

    assert two.element_spec == one.element_spec
    assert two.cardinality().numpy() == one.cardinality().numpy() == 24  # the last of one record
    for _ in range(2):  # which goes on with the passes after those of the first
        left = [next(iter(each)) for each in (one, two)]  # in the middle
        for expected, found in zip(flat([left[0], *one]), flat([left[1], *two]), strict=True):
            for array, other in zip(expected, found, strict=True):
                np.testing.assert_array_equal(array, other, strict=True)

    started = set(children()) - set(before)
    assert len(started) == 2  # for all iterations
    assert (
        "AutoGraph" not in capfd.readouterr().err
    )  # it can read what the functions are written as
    del two
    gc.collect()
    assert not started & set(children())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"batch_size": None}, "give a batch_size without buckets", id="single"),
        pytest.param(
            {"buckets": [(2, 8), (None, 4)], "bucket_by": "boxes"}, "without buckets", id="buckets"
        ),
        pytest.param({"cache": "memory"}, "pass cache='disk'", id="kept in memory"),
        pytest.param({"input_processes": 0}, "input_processes=0", id="none"),
    ],
)
def test_what_processes_cannot_share_is_refused(mixed, change, message):
    with pytest.raises(ConfigError, match=message):
        mixed.batches(**{"image_size": 16, "input_processes": 2, **change})


def test_functions_that_cannot_be_sent_are_named(mixed):
    lock = threading.Lock()

    def augment(image, seed):
        with lock:
            return image

    with pytest.raises(ConfigError, match=r"cannot be sent to an input process .*lock"):
        mixed.batches(image_size=16, input_processes=2, augment=augment)


@pytest.mark.slow
def test_errors_are_those_of_one_process(tmp_path, write_dataset, schema, colored_records):
    records = colored_records(12)
    records[9]["image/encoded"] = b"no image"
    path = write_dataset(tmp_path / "1.0.0", [schema["image"]], {"train": records})

    def error(**options):
        with pytest.raises(tf.errors.OpError) as caught:
            list(trainer.open(path).batches(batch_size=2, image_size=16, **options))
        return caught.value

    one, two = error(), error(input_processes=2)
    assert type(two) is type(one)
    assert type(explain(two)) is type(explain(one))
    assert str(explain(two)) == str(explain(one))
    assert "is not an image" in str(explain(one))


@pytest.mark.slow
def test_a_process_that_was_killed_is_named(mixed):
    before = children()
    batches = iter(mixed.batches(batch_size=2, image_size=16, repeat=True, input_processes=2))
    next(batches)
    for each in set(children()) - set(before):
        os.kill(each.pid, signal.SIGKILL)
    with pytest.raises(tf.errors.OpError) as caught:
        list(itertools.islice(batches, 99))
    assert str(explain(caught.value)).startswith("an input process ended (exit code -9")


SCRIPT = """
import sys, time
import psutil, trainer
batches = iter(trainer.open(sys.argv[1]).batches(
    "train", batch_size=2, image_size=16, repeat=True, input_processes=2))
next(batches)
print(*(each.pid for each in psutil.Process().children()), flush=True)
while True:
    next(batches)
"""


@pytest.mark.slow
def test_processes_end_with_their_parent_and_leave_no_memory_behind(colors, tmp_path):
    """The script has no `if __name__`: the processes do not run it again."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, script, colors], stdout=subprocess.PIPE, text=True
    ) as parent:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        links = [os.readlink(link) for link in Path(f"/proc/{pids[0]}/fd").iterdir()]
        assert "/memfd:batch (deleted)" in links
        assert not [link for link in links if link.startswith("/dev/shm")]
        os.kill(parent.pid, signal.SIGKILL)
    ends_at = time.monotonic() + 30
    while any(psutil.pid_exists(pid) for pid in pids):
        assert time.monotonic() < ends_at
        time.sleep(0.1)
