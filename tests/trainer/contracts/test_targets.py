"""Contract of targets and inputs, on made data of every kind of learning.

One training of each kind and number of replicas serves all tests.
"""

import functools
import json
import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf
from following import Follower
from kinds_of_learning import KINDS, learned, training
from tiers import first_in_ci

import tfrecord_dataset
import trainer
from tfrecord_dataset.format.declaration import features_from_json
from trainer.errors import ConfigError
from trainer.progress import as_text
from trainer.report.page import html_of_predictions
from trainer.runs.directory import RunDirectory
from trainer.runs.run_page import sections_of
from trainer.tasks import models
from trainer.tasks.reading import evaluation_batches, training_batches
from trainer.tasks.task_json import check_same_records, task_from_json, task_to_json
from trainer.training import loop
from trainer.training.evaluation import evaluator
from trainer.training.loop import TrainingPlan
from trainer.training.optimizers import create_optimizer

BATCH = 8
OPTIONS = training(image_size=32)
WITHOUT_BOXES = [kind for kind in KINDS if kind != "boxes"]


@pytest.fixture(scope="module")
def dataset_of(directory_of):
    return lambda kind: trainer.open(directory_of(kind))


@pytest.fixture(scope="module")
def task_of(dataset_of):
    """A function from a kind's name to its task, with statistics."""
    options = {"sample_weight": "weight", "image_size": 32}
    return functools.cache(lambda kind: learned(dataset_of(kind), **options))


@pytest.fixture(scope="module")
def make_kind_plan(dataset_of, task_of):
    """A function (kind, strategy) to a reproducible TrainingPlan with 6 steps per epoch."""

    def make(kind, strategy, model=models.build):
        dataset, task = dataset_of(kind), task_of(kind)
        keras.utils.set_random_seed(3)
        with strategy.scope():
            built = model(task)
            optimizer = create_optimizer("adam", 0.01)
            optimizer.build(built.trainable_variables)
        return TrainingPlan(
            task=task,
            model=built,
            optimizer=optimizer,
            strategy=strategy,
            batches=functools.partial(
                training_batches, task, dataset, "train", batch_size=BATCH, seed=5
            ),
            batch_size=BATCH,
            steps_per_epoch=6,
        )

    return make


def run(plan, epochs=range(1)):
    """Train, and return the history's last row."""
    follower = Follower(plan, epochs)
    loop.run(plan, follower)
    return follower.history[-1][1]


def evaluated(plan, dataset, model=None, task=None):
    """Return test loss and metrics without AUC: rounding can swap two of 13 records."""
    task = task or plan.task
    result = evaluator(task, model or plan.model, plan.strategy, dataset, "test", BATCH)()
    return {name: value for name, value in result.items() if name != "auc"}


@pytest.fixture(scope="module")
def trained(make_kind_plan, dataset_of, on_replicas):
    """A function (kind, replicas) to plan, history and evaluation after 6 steps."""

    @functools.cache
    def get(kind, replicas):
        plan = make_kind_plan(kind, on_replicas(replicas))
        return plan, run(plan), evaluated(plan, dataset_of(kind))

    return get


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", first_in_ci(sorted(WITHOUT_BOXES, key=lambda kind: kind != "table"))
)
def test_replicas_agree(kind, trained):
    _, history, evaluation = trained(kind, 1)
    _, other_history, other_evaluation = trained(kind, 2)

    assert other_history == pytest.approx(history, rel=1e-4, abs=1e-5)
    assert other_evaluation == pytest.approx(evaluation, rel=1e-3, abs=1e-4)


# A table, a text, maps of images, several answers, and a number to predict.
IN_CI = ("table", "text", "segmentation", "several labels", "regression")


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    first_in_ci(sorted(WITHOUT_BOXES, key=lambda kind: kind not in IN_CI), len(IN_CI)),
)
def test_what_was_trained_is_saved_whole(kind, trained, dataset_of, tmp_path):
    plan, _, evaluation = trained(kind, 2)
    RunDirectory(tmp_path).save_model(plan.model, tmp_path / "model.keras")

    model = keras.models.load_model(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as archive:
        assert b"optimizer" not in archive.read("model.weights.h5")
    dataset = dataset_of(kind)
    task, _ = task_from_json(json.loads(json.dumps(task_to_json(plan.task, dataset.features))))
    assert evaluated(plan, dataset, model, task) == pytest.approx(evaluation, rel=1e-5, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", first_in_ci(["audio", "table", "text"]))
def test_bfloat16_learns_alike(kind, trained, make_kind_plan, one_replica):
    _, expected, _ = trained(kind, 1)
    keras.config.set_dtype_policy("mixed_bfloat16")  # until the test ends

    assert run(make_kind_plan(kind, one_replica))["loss"] == pytest.approx(
        expected["loss"], rel=0.2
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", first_in_ci(["sequence", "audio", "series", "tags", "text"], 2))
def test_what_pads_changes_nothing(kind, make_kind_plan, one_replica, dataset_of):
    plan = make_kind_plan(kind, one_replica)
    random = np.random.default_rng(0)  # unlike a new model, no bias is 0
    plan.model.set_weights(
        [weight + random.uniform(0, 0.1, weight.shape) for weight in plan.model.get_weights()]
    )

    def outputs(batch_size):
        batches = evaluation_batches(plan.task, dataset_of(kind), "test", batch_size=batch_size)
        return np.concatenate(
            [plan.model(plan.task.prepare(inputs), training=False) for inputs, _ in batches]
        )

    np.testing.assert_allclose(outputs(13), outputs(1), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_lengths_do_not_trace_anew(make_kind_plan, dataset_of, two_replicas):
    calls = []

    class Counted(keras.layers.Layer):
        def call(self, x):
            calls.append(x)
            return x

    def model(task):
        built = models.build(task)
        return keras.Model(built.inputs[0], Counted()(built.outputs[0]))

    plan = make_kind_plan("audio", two_replicas, model)
    lengths = {int(tf.shape(*inputs.values())[1]) for inputs, *_ in plan.batches_from(0).take(6)}
    assert len(lengths) > 3

    calls.clear()
    run(plan)
    assert len(calls) <= 2 * 2  # per replica, perhaps with and without a graph

    calls.clear()
    evaluated(plan, dataset_of("audio"))
    assert len(calls) <= 2 * 2


@pytest.mark.parametrize(
    ("kind", "name", "change", "message"),
    [
        ("audio", "audio", None, "feature, which the model needs"),
        ("audio", "audio", {"kind": "bytes"}, "audio .bytes."),
        ("table", "vector", {"shape": [4]}, r"shape \[4\]"),
        ("array", "x", {"shape": [8, 8]}, r"shape \[8, 8\]"),
        ("audio", "label", {"classes": ["a"]}, "the same classes"),
        ("audio", "label", {"shape": [None]}, "the target label"),
        (
            "text",
            "caption",
            {"kind": "bytes", "dtype": "bytes"},
            r"trained on words \(is_text True",
        ),
        (
            *("names", "target", {"kind": "scalar", "dtype": "int64"}),
            r"is class \(is_text False\), but .* trained on class \(is_text True\);",
        ),
    ],
)
def test_other_records_are_refused(kind, name, change, message, task_of, directory_of):
    metadata = json.loads((directory_of(kind) / "metadata.json").read_text())
    features = {each["name"]: each for each in metadata["features"]}
    features[name] = change and features[name] | change
    changed = features_from_json([feature for feature in features.values() if feature])

    with pytest.raises(ConfigError, match=message):
        check_same_records(task_of(kind), changed, OPTIONS)


def test_what_nobody_said_of_other_records_may_be_so(task_of):
    declared = {"audio": {"kind": "audio"}, "label": {"kind": "class_label"}}

    check_same_records(task_of("audio"), features_from_json(declared), OPTIONS)


@pytest.fixture(scope="module", params=KINDS)
def sample(request, directory_of):
    """(task, dataset, target of the 13 test records, possible outputs of a model)."""
    dataset = trainer.open(directory_of(request.param))
    task = learned(dataset, sample_weight="weight", image_size=32)
    ((_, values),) = evaluation_batches(task, dataset, "test", batch_size=13)
    outputs = tf.random.stateless_normal([13, *task.output_shape], [1, 2])
    return task, dataset, values, outputs


def rounded(value):
    """Convert to JSON's values, with numbers to six digits."""
    return json.loads(json.dumps(value), parse_float=lambda text: f"{float(text):.6g}")


def figures_of(accumulator):
    """Return the records to look at."""
    return [(example.number, example.text) for example in accumulator.examples()]


def test_each_example_has_a_loss_and_metrics(sample):
    task, _, target, outputs = sample
    losses = task.loss(task.goal.with_totals(target), outputs).numpy()

    assert (losses.shape, losses.dtype) == ((13,), np.float32)
    assert np.isfinite(losses).all()
    for metric in task.metrics.values():
        assert metric(target, outputs).shape == (13,)


def test_parts_that_are_merged_are_the_whole(sample):
    task, _, target, outputs = sample
    target = tf.nest.map_structure(lambda each: each.numpy(), target)
    found = {name: each.numpy() for name, each in task.goal.predict(outputs).items()}

    def seen(*parts):
        accumulators = task.goal.accumulators()
        for start, end in parts:
            part = functools.partial(tf.nest.map_structure, lambda each: each[start:end])  # noqa: B023
            for accumulator in accumulators:
                accumulator.update(part(target), part(found))
        return accumulators

    for whole, batches in zip(seen((0, 13)), seen((0, 8), (8, 13)), strict=True):
        assert batches.result() == pytest.approx(whole.result(), nan_ok=True)
        assert rounded(batches.figures()) == rounded(whole.figures())
        assert figures_of(batches) == figures_of(whole)


def test_a_row_is_json_and_its_lines_have_their_columns(sample, png):
    task, _, target, outputs = sample
    decoded = {name: each.numpy() for name, each in task.goal.decode(outputs).items()}
    image = png(np.zeros((20, 30, 3)))
    for number in range(13):
        row = task.goal.row({name: each[number] for name, each in decoded.items()}, image, 0.0)
        assert rounded(json.loads(json.dumps(row))) == rounded(row)
        for line in task.goal.lines(row):
            assert len(line) == len(task.goal.columns)
        of_record = tf.nest.map_structure(lambda each, n=number: each[n].numpy(), target)
        assert isinstance(task.goal.shown(of_record)[0], str)


def test_figures_are_drawn_and_compared_with_a_guess(sample):
    task, dataset, target, outputs = sample
    target = tf.nest.map_structure(lambda each: each.numpy(), target)
    found = {name: each.numpy() for name, each in task.goal.predict(outputs).items()}
    accumulators, baseline = task.goal.accumulators(), task.goal.baseline()
    result = {baseline.metric: 0.5}
    for each in (*accumulators, baseline):
        each.update(target, found)
        result |= each.result()

    page = html_of_predictions(
        "run", "test", as_text(result), sections_of(accumulators, task, dataset, "test")
    )

    assert baseline.compare(result)
    assert page.count("<svg") + page.count("<td") > 2


def test_a_task_is_read_as_it_was_written(sample):
    task, dataset, _, _ = sample
    read, features = task_from_json(json.loads(json.dumps(task_to_json(task, dataset.features))))

    assert read == task
    assert [repr(each) for each in read.inputs.values()] == [
        repr(each) for each in task.inputs.values()
    ]
    assert features == {name: dataset.features[name] for name in task.training_features}
    check_same_records(read, dataset.features, training(image_size=32))


def test_statistics_of_parts_are_those_of_the_whole(sample):
    task, dataset, _, _ = sample
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
