"""Properties of all tasks: per-example losses, parts of batches, rows, and task.json."""

import functools
import json

import numpy as np
import pytest
import tensorflow as tf
from kinds_of_learning import KINDS, training
from kinds_of_learning import learned as of_kind

import tfrecord_dataset
import trainer
from trainer.tasks.reading import evaluation_batches
from trainer.tasks.targets.results import results_of
from trainer.tasks.task_json import check_same_records, task_from_json, task_to_json


@pytest.fixture(scope="module", params=KINDS)
def learned(request, directory_of):
    """(task, dataset, target of the 13 test records, possible outputs of a model)."""
    dataset = trainer.open(directory_of(request.param))
    task = of_kind(dataset, sample_weight="weight", image_size=32)
    ((_, values),) = evaluation_batches(task, dataset, "test", batch_size=13)
    outputs = tf.random.stateless_normal([13, *task.output_shape], [1, 2])
    return task, dataset, values, outputs


def rounded(value):
    """Convert to JSON's values, with numbers to six digits."""
    return json.loads(json.dumps(value), parse_float=lambda text: f"{float(text):.6g}")


def told(accumulator):
    """Return the records to look at."""
    return [(example.number, example.text) for example in accumulator.examples()]


def test_each_example_has_a_loss_and_metrics(learned):
    task, _, target, outputs = learned
    losses = task.loss(task.goal.with_totals(target), outputs).numpy()

    assert (losses.shape, losses.dtype) == ((13,), np.float32)
    assert np.isfinite(losses).all()
    for metric in task.metrics.values():
        assert metric(target, outputs).shape == (13,)


def test_parts_that_are_merged_are_the_whole(learned):
    task, _, target, outputs = learned
    target = tf.nest.map_structure(lambda each: each.numpy(), target)
    found = {name: each.numpy() for name, each in task.goal.predict(outputs).items()}

    def seen(*parts):
        accumulators = results_of(task.goal).accumulators()
        for start, end in parts:
            part = functools.partial(tf.nest.map_structure, lambda each: each[start:end])  # noqa: B023
            for accumulator in accumulators:
                accumulator.update(part(target), part(found))
        return accumulators

    for whole, batches in zip(seen((0, 13)), seen((0, 8), (8, 13)), strict=True):
        assert batches.result() == pytest.approx(whole.result(), nan_ok=True)
        assert rounded(batches.figures()) == rounded(whole.figures())
        assert told(batches) == told(whole)


def test_a_row_is_json_and_its_lines_have_their_columns(learned, png):
    task, _, target, outputs = learned
    decoded = {name: each.numpy() for name, each in task.goal.decode(outputs).items()}
    image = png(np.zeros((20, 30, 3)))
    for number in range(13):
        row = results_of(task.goal).row(
            {name: each[number] for name, each in decoded.items()}, image, 0.0
        )
        assert rounded(json.loads(json.dumps(row))) == rounded(row)
        for line in results_of(task.goal).lines(row):
            assert len(line) == len(results_of(task.goal).columns)
        of_record = tf.nest.map_structure(lambda each, n=number: each[n].numpy(), target)
        assert isinstance(results_of(task.goal).shown(of_record)[0], str)


def test_a_task_is_read_as_it_was_written(learned):
    task, dataset, _, _ = learned
    read, features = task_from_json(json.loads(json.dumps(task_to_json(task, dataset.features))))

    assert read == task
    assert [repr(each) for each in read.inputs.values()] == [
        repr(each) for each in task.inputs.values()
    ]
    assert features == {name: dataset.features[name] for name in task.training_features}
    check_same_records(read, dataset.features, training(image_size=32))


def test_statistics_of_parts_are_those_of_the_whole(learned):
    task, dataset, _, _ = learned
    records = [*tfrecord_dataset.open(dataset.path)["train"]]
    for each in (*task.inputs.values(), task.goal):
        once, twice = each.statistic(), each.statistic()
        if once is None or each.name == "audio":
            continue
        values = [np.asarray(record[each.name]) for record in records]
        of = np.concatenate if values[0].ndim and len({len(v) for v in values}) > 1 else np.stack
        once.add(of(values))
        for part in (values[:15], values[15:]):
            twice.add(of(part))
        assert rounded(twice.result()) == rounded(once.result())
