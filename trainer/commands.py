"""The commands `train` and `evaluate`, after their options have been checked."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import keras
import tensorflow as tf

from trainer import keras_fit, training
from trainer.checkpoint import Checkpoints
from trainer.config import TrainConfig, check_same_data, resume_config
from trainer.dataset import Dataset
from trainer.errors import ConfigError, TrainerError
from trainer.evaluation import evaluator
from trainer.features import Feature
from trainer.opening import open_data
from trainer.optimizers import create_optimizer
from trainer.progress import Progress
from trainer.recording import Recorder
from trainer.run_directory import Row, RunDirectory
from trainer.strategy import check_global_batch, create_strategy, parse_devices
from trainer.tasks import Settings, Task, choose_task, models
from trainer.tasks.reading import evaluation_batches, training_batches, with_statistics
from trainer.tasks.record import (
    check_same_records,
    recorded_features,
    task_from_json,
    task_to_json,
)
from trainer.tensorflow_errors import explain
from trainer.training import Plan

_LOOPS = {"custom": training.run_epochs, "fit": keras_fit.run_epochs}
_VALIDATION_NAMES = ("validation", "val", "valid")


def train(config: TrainConfig) -> Row:
    """Trains; returns the last row of the history.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    progress = Progress(quiet=config.quiet)
    run = RunDirectory(config.output)
    run.check_free(resume=config.resume, overwrite=config.overwrite)
    previous = run.read_config() if config.resume and run.holds_run() else None
    config = resume_config(config, previous["options"]) if previous else config.with_seed()
    model_fn = None if config.model_fn is None else models.find_function(config.model_fn)
    _set_up_tensorflow(config)
    strategy = create_strategy(parse_devices(config.devices))
    check_global_batch(config.batch_size, strategy.num_replicas_in_sync)

    recorded = run.read_task() if previous else {}
    dataset = open_data(config.data, config.schema, recorded_features(recorded))
    train_split = _train_split(dataset, config.train_split)
    validation_split = _validation_split(dataset, config.validation_split, progress)
    steps_per_epoch = _steps_per_epoch(config, dataset.num_records(train_split), progress)
    data = _describe_data(dataset, train_split)
    if previous:
        check_same_data(data, previous["data"], config.output)
        task = task_from_json(recorded)
        check_same_records(task, dataset.features, _settings(config.to_json()))
    else:
        task, config = _choose(config, dataset, progress)
        task = with_statistics(task, dataset, train_split, progress.say)
        for each in task.inputs.values():
            for remark in each.remarks(own_model=model_fn is not None):
                progress.say(remark)
        if len(task.classes) == 1:
            progress.say(f"{task.target} has only one class: there is nothing to predict")

    with strategy.scope():
        if model_fn is None:
            model = models.branch_model(task, config.model.lower())
        else:
            model = models.model_from_function(task, model_fn)
        optimizer = create_optimizer(config.optimizer, config.learning_rate, config.clip_norm)
        optimizer.build(model.trainable_variables)
    plan = Plan(
        task=task,
        model=model,
        optimizer=optimizer,
        strategy=strategy,
        batches=_training_batches(dataset, task, config, train_split),
        batch_size=config.batch_size,
        steps_per_epoch=steps_per_epoch,
        steps_per_call=config.steps_per_call,
    )
    if config.overwrite:
        run.clear()
    run.write_config(
        {
            "options": config.to_json(),
            "data": data,
            "task": task.name,
            "inputs": [each.name for each in task.inputs.values()],
            "target": task.target,
            "classes": list(task.classes),
            "versions": {"tensorflow": tf.__version__, "keras": keras.__version__},
        },
        task_to_json(task, dataset.features),
    )
    checkpoints = Checkpoints(str(run.checkpoints), model, optimizer)
    epochs_done = checkpoints.restore() if previous else 0
    recorder = Recorder(
        run,
        model,
        checkpoints,
        _validator(dataset, plan, validation_split),
        run.read_history(epochs_done) if previous else [],
        progress,
    )
    progress.say(
        f"{model.name}: {model.count_params():,} parameters, {task.num_outputs} output(s), "
        f"{strategy.num_replicas_in_sync} replica(s), batches of {config.batch_size}, "
        f"{plan.steps_per_epoch} steps per epoch, seed {config.seed}"
    )
    if epochs_done:
        progress.say(f"continuing after epoch {epochs_done}")
    if epochs_done < config.epochs:
        epochs = range(epochs_done, config.epochs)
        _LOOPS[config.loop](plan, epochs, recorder.record_epoch, progress)
    else:
        progress.say(f"all {config.epochs} epochs are finished; raise --epochs for more")
    run.save_model(model, run.model)
    progress.say(f"model: {run.model}")
    return recorder.history[-1]


def evaluate(
    *,
    data: str,
    run_path: str,
    schema: str | None,
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
    file = {"final": run.model, "best": run.best_model}[which]
    if not file.exists():
        raise ConfigError(
            f"{run_path} has no {file.name}: its training did not finish; continue it with "
            "`python -m trainer train --resume`"
        )
    strategy = create_strategy(parse_devices(devices))
    global_batch = batch_size or int(run_config["options"]["batch_size"])
    check_global_batch(global_batch, strategy.num_replicas_in_sync)
    recorded = run.read_task()
    task = task_from_json(recorded)
    dataset = open_data(data, schema, recorded_features(recorded, task.features))
    check_same_records(task, dataset.features, _settings(run_config["options"]))
    default = "test" if "test" in dataset.splits else None
    split_name = dataset.split(split or default).name
    with strategy.scope():
        model = models.load(file, run_config["options"]["model_fn"])
    batches = evaluation_batches(task, dataset, split_name, batch_size=global_batch)
    num_records = dataset.num_records(split_name)
    progress.say(f"evaluating {file} on the {num_records} records of {split_name!r}")
    result = evaluator(task, model, strategy, batches, global_batch, num_records)()
    return {**result, "num_records": num_records}


@contextlib.contextmanager
def readable_errors() -> Iterator[None]:
    """Turns TensorFlow's errors while reading or training into this package's errors."""
    try:
        yield
    except tf.errors.ResourceExhaustedError as error:
        raise TrainerError(
            f"out of memory: {error.message.splitlines()[0]}; lower --batch-size or --image-size"
        ) from error
    except tf.errors.OpError as error:
        raise explain(error) from error


def _set_up_tensorflow(config: TrainConfig) -> None:
    assert config.seed is not None
    keras.utils.set_random_seed(config.seed)
    keras.config.set_dtype_policy(config.precision)
    if config.deterministic:
        tf.config.experimental.enable_op_determinism()


def _train_split(dataset: Dataset, name: str | None) -> str:
    if name is None and "train" in dataset.splits:
        return "train"
    return dataset.split(name).name


def _validation_split(dataset: Dataset, name: str | None, progress: Progress) -> str | None:
    if name == "none":
        return None
    if name is not None:
        return dataset.split(name).name
    for usual in _VALIDATION_NAMES:
        if usual in dataset.splits:
            return usual
    progress.say(
        f"no validation: none of the splits {', '.join(dataset.splits)} is named "
        f"{', '.join(_VALIDATION_NAMES)}; name one by --validation-split"
    )
    return None


def _choose(config: TrainConfig, dataset: Dataset, progress: Progress) -> tuple[Task, TrainConfig]:
    """The task, and the options completed with the size of its images."""
    size = config.image_size or _declared_size(dataset.features.values())
    task, reason = choose_task(
        config.task,
        dataset.features,
        config.target,
        inputs=config.inputs,
        sample_weight=config.sample_weight,
        settings=_settings(config.to_json() | {"image_size": size}),
    )
    progress.say(f"task {task.name}: {reason}")
    has_images = any(each.group == "image" for each in task.inputs.values())
    if config.image_size is not None and not has_images:
        raise ConfigError("--image-size needs an image among the inputs; leave it out")
    if has_images and size is None:
        size = Settings().image_size
        progress.say(f"images differ in size; resizing to {size[1]}x{size[0]} (--image-size)")
    return task, dataclasses.replace(config, image_size=size if has_images else None)


def _settings(options: Mapping[str, Any]) -> Settings:
    """The settings of inputs in the options of the command or of config.json."""
    height, width = options["image_size"] or Settings().image_size
    return Settings(
        image_size=(height, width),
        image_model=options["model"],
        weights=options["weights"],
        lengths=options["pad"],
    )


def _declared_size(features: Iterable[Feature]) -> tuple[int, int] | None:
    for feature in features:
        height, width = feature.shape[:2] if feature.kind == "image" else (None, None)
        if height is not None and width is not None:
            return height, width
    return None


def _describe_data(dataset: Dataset, train_split: str) -> dict[str, Any]:
    """What must not change when a run is resumed."""
    return {
        "fingerprint": dataset.fingerprint,
        "train split": train_split,
        "number of training records": dataset.num_records(train_split),
    }


def _steps_per_epoch(config: TrainConfig, num_records: int, progress: Progress) -> int:
    if num_records == 0:
        raise ConfigError(
            f"the train split of {config.data} has no records; build the dataset again"
        )
    if num_records < config.batch_size:
        progress.say(
            f"a batch of {config.batch_size} is larger than the {num_records} training records; "
            "some occur twice in a batch"
        )
    return config.steps_per_epoch or max(1, num_records // config.batch_size)


def _training_batches(
    dataset: Dataset, task: Task, config: TrainConfig, split: str
) -> Callable[[int], tf.data.Dataset]:
    assert config.seed is not None
    seed = config.seed
    return lambda first_record: training_batches(
        task,
        dataset,
        split,
        batch_size=config.batch_size,
        seed=seed,
        first_record=first_record,
    )


def _validator(
    dataset: Dataset, plan: Plan, split: str | None
) -> Callable[[], dict[str, float]] | None:
    if split is None:
        return None
    batches = evaluation_batches(plan.task, dataset, split, batch_size=plan.batch_size)
    return evaluator(
        plan.task,
        plan.model,
        plan.strategy,
        batches,
        plan.batch_size,
        dataset.num_records(split),
    )
