"""The command `evaluate`."""

import functools

from trainer.dataset.opening import open_data
from trainer.options.commands import EvaluateConfig
from trainer.options.devices import parse_devices
from trainer.progress import Progress
from trainer.runs.choices import evaluation_split
from trainer.runs.directory import Row
from trainer.runs.trained import open_run
from trainer.tasks.reading import evaluation_batches
from trainer.tasks.record import check_same_records
from trainer.training.evaluation import evaluator
from trainer.training.strategy import check_global_batch, create_strategy


def evaluate(config: EvaluateConfig) -> Row:
    """Loss and metrics of a trained model on one split; each record counts once.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    progress = Progress(quiet=config.quiet)
    strategy = create_strategy(parse_devices(config.devices))
    with strategy.scope():
        run = open_run(config.run_path, config.which, config.model_fn)
    global_batch = config.batch_size or run.options.global_batch
    check_global_batch(global_batch, strategy.num_replicas_in_sync)
    if run.own_loss is not None:
        progress.say(f"loss is that of the task, not the run's own, {run.own_loss}")
    task, features = run.task, run.features_of(run.task.features)
    dataset = open_data(
        config.data,
        config.schema,
        features,
        config.cache_dir,
        config.cache_bytes,
        allow_missing_shards=config.allow_missing_shards,
    )
    check_same_records(task, dataset.features, run.options)
    split_name = evaluation_split(dataset, config.split)
    batches = functools.partial(
        evaluation_batches, task, dataset, split_name, batch_size=global_batch
    )
    num_records = dataset.num_records(split_name)
    progress.say(f"evaluating {run.file} on the {num_records} records of {split_name!r}")
    result = evaluator(task, run.model, strategy, batches, global_batch, num_records)()
    return {**result, "num_records": num_records}
