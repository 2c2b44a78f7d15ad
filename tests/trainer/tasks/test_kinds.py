"""Every kind of learning: loops and replicas agree, and what was trained is saved whole."""


import keras
import pytest

import trainer
from trainer import keras_fit, training
from trainer.evaluation import evaluator
from trainer.optimizers import create_optimizer
from trainer.progress import Progress
from trainer.tasks import choose_task, models
from trainer.tasks.reading import evaluation_batches, learned, training_batches
from trainer.training import Plan

LOOPS = {"custom": training.run_epochs, "fit": keras_fit.run_epochs}
BATCH = 8


@pytest.fixture(scope="module")
def dataset_of(directory_of):
    return lambda kind: trainer.open(directory_of(kind))


@pytest.fixture(scope="module")
def task_of(dataset_of):
    """A function from a kind's name to its task, everything learned."""
    tasks = {}

    def get(kind, **options):
        key = (kind, *options.items())
        if key not in tasks:
            dataset = dataset_of(kind)
            target = "price" if kind == "regression" else None
            options.setdefault("sample_weight", "weight")
            task, _ = choose_task("auto", dataset.features, target, **options)
            tasks[key] = learned(task, dataset, "train", lambda line: None)
        return tasks[key]

    return get


@pytest.fixture(scope="module")
def trained(dataset_of, task_of, one_replica, two_replicas):
    """A function (kind, loop, replicas) to plan, history and evaluation after 6 steps."""
    results = {}

    def get(kind, loop, replicas):
        key = (kind, loop, replicas)
        if key not in results:
            strategy = {1: one_replica, 2: two_replicas}[replicas]
            dataset, task = dataset_of(kind), task_of(kind)
            keras.utils.set_random_seed(3)
            with strategy.scope():
                model = models.branched(task, "small")
                optimizer = create_optimizer("adam", 0.01)
                optimizer.build(model.trainable_variables)
            plan = Plan(
                task=task,
                model=model,
                optimizer=optimizer,
                strategy=strategy,
                batches=lambda first: training_batches(
                    task, dataset, "train", batch_size=BATCH, seed=5, first_record=first
                ),
                batch_size=BATCH,
                steps_per_epoch=6,
            )
            history = []
            LOOPS[loop](plan, range(1), lambda _, row: history.append(row), Progress(quiet=True))
            batches = evaluation_batches(task, dataset, "test", batch_size=BATCH)
            evaluated = evaluator(task, model, strategy, batches, BATCH, 13)()
            results[key] = plan, history[0], evaluated
        return results[key]

    return get


@pytest.mark.parametrize(("loop", "replicas"), [("custom", 2), ("fit", 1), ("fit", 2)])
def test_loops_and_replicas_agree(kind, trained, loop, replicas):
    _, history, evaluated = trained(kind, "custom", 1)
    _, other_history, other_evaluated = trained(kind, loop, replicas)

    assert other_history == pytest.approx(history, rel=1e-4, abs=1e-5)
    assert other_evaluated == pytest.approx(evaluated, rel=1e-3, abs=1e-4)
