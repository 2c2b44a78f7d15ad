"""The command `evaluate`."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from trainer.dataset.opening import cache_of, open_data
from trainer.errors import ConfigError
from trainer.progress import Progress
from trainer.runs.choices import evaluation_split, settings
from trainer.runs.directory import Row, RunDirectory
from trainer.tasks import Task, models
from trainer.tasks.reading import evaluation_batches
from trainer.tasks.record import check_same_records, recorded_features, task_from_json
from trainer.training.evaluation import evaluator
from trainer.training.strategy import check_global_batch, create_strategy, parse_devices


def evaluate(
    *,
    data: str,
    run_path: str,
    schema: str | None,
    cache_dir: str | None,
    cache_bytes: int | None,
    split: str | None,
    which: str,
    batch_size: int | None,
    devices: str,
    quiet: bool,
) -> Row:
    """Loss and metrics of a trained model on one split; each record counts once.

    Args:
        data: What `trainer.open` opens.
        run_path: The directory that `train` wrote.
        schema: A file that declares the features of bare files; None for those of the run.
        cache_dir, cache_bytes: As for `trainer.open`.
        split: None for "test", or the only split.
        which: "final" or "best": the model at the end, or after the best epoch.
        batch_size: Of the global batch; None for that of the training.
        devices: As `strategy.parse_devices` reads them.
        quiet: Print nothing but errors on stderr.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    progress = Progress(quiet=quiet)
    run = RunDirectory(run_path)
    run_config = run.read_config()
    file = run.trained_model(which)
    strategy = create_strategy(parse_devices(devices))
    global_batch = batch_size or int(run_config["options"]["batch_size"])
    check_global_batch(global_batch, strategy.num_replicas_in_sync)
    recorded = run.read_task()
    task = _with_own_loss(task_from_json(recorded), run_config["options"], progress)
    cache, features = cache_of(cache_dir, cache_bytes), recorded_features(recorded, task.features)
    dataset = open_data(data, schema, features, cache)
    check_same_records(task, dataset.features, settings(run_config["options"]))
    split_name = evaluation_split(dataset, split)
    with strategy.scope():
        model = models.load(file, run_config["options"]["model_fn"])
    batches = evaluation_batches(task, dataset, split_name, batch_size=global_batch)
    num_records = dataset.num_records(split_name)
    progress.say(f"evaluating {file} on the {num_records} records of {split_name!r}")
    result = evaluator(task, model, strategy, batches, global_batch, num_records)()
    return {**result, "num_records": num_records}


def _with_own_loss(task: Task, options: Mapping[str, Any], progress: Progress) -> Task:
    """The task with the run's own loss; without it where it cannot be imported."""
    path = options.get("loss_fn")
    if path is None:
        return task
    try:
        return dataclasses.replace(task, loss_fn=models.find_function(path, "--loss-fn"))
    except ConfigError as error:
        progress.say(f"loss is that of the task, not the run's own: {error}")
        return task
