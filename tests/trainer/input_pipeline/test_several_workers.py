"""Two processes of TF_CONFIG read every record once, in loops of a user's own."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from ports import tf_configs

import trainer
from trainer.errors import ConfigError

_ROOT = Path(trainer.__file__).parents[1]
_PROGRAM = Path(__file__).with_name("loops_of_workers.py")
_NUM_RECORDS, _BATCH_SIZE, _NUM_STEPS = 70, 16, 9


@pytest.fixture(scope="module")
def found(tmp_path_factory, write_records, colors):
    """Output of each worker."""
    folder = tmp_path_factory.mktemp("workers")
    for part in range(2):
        write_records(
            folder / f"rows-{part}.tfrecord",
            [
                {"number": number, "words": [b"a"] * (1 + number % 3)}
                for number in range(35 * part, 35 * part + 35)
            ],
        )
    (folder / "data").mkdir()
    (folder / "data" / "cells").symlink_to(colors)
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen(
            [sys.executable, str(_PROGRAM), str(_ROOT / "docs/gpus.md")],
            cwd=folder,
            env={**variables, "TF_CONFIG": config},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for config in tf_configs(2)
    ]
    try:
        ends = [process.communicate(timeout=200) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], ends
    return [json.loads(printed.splitlines()[-1]) for printed, _ in ends]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["distribute", "from function"])
@pytest.mark.parametrize("order", ["in file order", "record by record", "shuffled"])
def test_two_workers_have_every_record_once(found, way, order):
    parts = [each[f"{way}, {order}"] for each in found]

    sizes = [[len(step) for step in part] for part in parts]
    assert sizes == [[8, 8, 8, 8, 3]] * 2
    numbers = [*itertools.chain(*parts[0], *parts[1])]
    assert sorted(numbers) == [*range(_NUM_RECORDS)]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["distribute", "from function"])
def test_a_step_of_two_workers_is_the_batch_of_one_process(found, way):
    batches = range(0, _NUM_RECORDS, _BATCH_SIZE)
    whole = [[*range(_NUM_RECORDS)][start : start + _BATCH_SIZE] for start in batches]

    together = zip(*(each[f"{way}, in file order"] for each in found), strict=True)

    assert [a + b for a, b in together] == whole
    full = zip(*(each[f"{way}, full batches"] for each in found), strict=True)
    assert [a + b for a, b in full] == whole[:-1]


@pytest.mark.slow
def test_endless_batches_of_two_workers_continue_across_the_passes(found):
    ways = [[each[f"{way}, endless"] for each in found] for way in ("distribute", "from function")]

    assert ways[0] == ways[1]
    numbers = [*itertools.chain(*(a + b for a, b in zip(*ways[0], strict=True)))]
    assert len(numbers) == _NUM_STEPS * _BATCH_SIZE
    for first in (0, _NUM_RECORDS):
        assert sorted(numbers[first : first + _NUM_RECORDS]) == [*range(_NUM_RECORDS)]


@pytest.mark.slow
def test_the_example_of_the_page_trains_one_model_on_both(found):
    (bias, _) = weights = [found[0]["page"][at] for at in (1, 0)]
    assert [found[1]["page"][at] for at in (1, 0)] == weights
    assert np.abs(bias).max() > 1e-3


@pytest.fixture
def in_a_cluster(monkeypatch):
    """TF_CONFIG of two workers."""
    monkeypatch.setenv("TF_CONFIG", tf_configs(2)[1])


@pytest.mark.usefixtures("in_a_cluster")
@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"shuffle": True}, "^shuffle=True without a seed gives 2 workers different orders"),
        ({"deterministic": False}, "^deterministic=False gives 2 workers different orders"),
        ({"shuffle": True, "worker": 1, "num_workers": 2}, "such as seed=0$"),
        ({"shuffle": True, "seed": 0}, None),
        ({"deterministic": False, "worker": 1, "num_workers": 2}, None),
    ],
)
def test_workers_need_one_order(dataset, options, cause):
    options = {"features": "number", **options}
    if cause is None:
        assert dataset.batches("train", **options)
    else:
        with pytest.raises(ConfigError, match=cause):
            dataset.batches("train", **options)
        assert dataset.batches("train", **options | {"seed": 0, "deterministic": True})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 6}, "^4 replicas cannot share batches of 6 evenly; .* multiple of 4"),
        ({"batch_size": 8, "worker": 1, "num_workers": 2}, "leave out worker and num_workers"),
    ],
)
def test_wrong_arguments_with_a_context(dataset, options, message):
    context = tf.distribute.InputContext(2, 1, num_replicas_in_sync=4)

    with pytest.raises(ConfigError, match=message):
        dataset.batches("train", features="number", input_context=context, **options)


@pytest.mark.parametrize("drop_remainder", [False, True])
def test_every_replica_has_its_part(dataset, drop_remainder):
    """Two workers with two replicas each; 50 records in batches of 16."""
    options = {"features": "number", "batch_size": 16, "drop_remainder": drop_remainder}
    (whole, *parts) = [
        [batch["number"].numpy().tolist() for batch in dataset.batches("train", **options, **more)]
        for more in (
            {},
            *(
                {"input_context": tf.distribute.InputContext(2, worker, num_replicas_in_sync=4)}
                for worker in range(2)
            ),
        )
    ]

    of_steps = [[itertools.chain(*part[at : at + 2]) for part in parts] for at in range(0, 8, 2)]
    assert [[*itertools.chain(*step)] for step in of_steps][: len(whole)] == whole
    assert {len(batch) for part in parts for batch in part[:6]} == {4}
