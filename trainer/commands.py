"""What the commands do, once their options are known to be good."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import keras
import tensorflow as tf

from trainer import keras_fit, training
from trainer.checkpoint import Checkpoints
from trainer.config import TrainConfig, check_same_data, resumed
from trainer.dataset import Dataset
from trainer.errors import ConfigError, DatasetDamagedError, TrainerError
from trainer.evaluation import evaluator
from trainer.features import Feature
from trainer.opening import open as open_dataset
from trainer.optimizers import create_optimizer
from trainer.progress import Progress
from trainer.recording import Recorder
from trainer.run_directory import Row, RunDirectory
from trainer.strategy import check_global_batch, create_strategy, parse_devices
from trainer.tasks import choose_task
from trainer.tasks.task import Task
from trainer.training import Plan

_LOOPS = {"custom": training.run_epochs, "fit": keras_fit.run_epochs}
_VALIDATION_NAMES = ("validation", "val", "valid")
_DEFAULT_IMAGE_SIDE = 128


def train(config: TrainConfig) -> Row:
    """Trains as `config` says; returns the last row of the history.

    Raises:
        TrainerError: As the tree in errors.py says.
    """
    progress = Progress(quiet=config.quiet)
    run = RunDirectory(config.output)
    run.check_free(resume=config.resume, overwrite=config.overwrite)
    previous = run.read_config() if config.resume and run.holds_run() else None
    config = resumed(config, previous["options"]) if previous else config.with_seed()
    _set_up_tensorflow(config)
    strategy = create_strategy(parse_devices(config.devices))
    check_global_batch(config.batch_size, strategy.num_replicas_in_sync)

    dataset = open_dataset(config.data)
    task, reason = choose_task(config.task, dataset.features, config.target)
    progress.say(f"task {task.name}: {reason}")
    train_split = _train_split(dataset, config.train_split)
    validation_split = _validation_split(dataset, config.validation_split, progress)
    config = dataclasses.replace(
        config, image_size=config.image_size or _image_size(dataset.features, progress)
    )
    data = _describe_data(dataset, task, train_split)
    if previous:
        check_same_data(data, previous["data"], config.output)

    with strategy.scope():
        model = task.build_model(config.model, _size(config), config.weights)
        optimizer = create_optimizer(config.optimizer, config.learning_rate, config.clip_norm)
        optimizer.build(model.trainable_variables)
    plan = Plan(
        task=task,
        model=model,
        optimizer=optimizer,
        strategy=strategy,
        batches=_training_batches(dataset, task, config, train_split),
        batch_size=config.batch_size,
        steps_per_epoch=_steps_per_epoch(config, dataset.num_records(train_split), progress),
        steps_per_call=config.steps_per_call,
    )
    if config.overwrite:
        run.clear()
    run.write_config(
        {
            "options": config.to_json(),
            "data": data,
            "task": task.name,
            "target": task.target,
            "classes": list(task.classes),
            "versions": {"tensorflow": tf.__version__, "keras": keras.__version__},
        }
    )
    checkpoints = Checkpoints(str(run.checkpoints), model, optimizer)
    epochs_done = checkpoints.restore() if previous else 0
    recorder = Recorder(
        run,
        model,
        checkpoints,
        _validator(dataset, task, config, plan, validation_split),
        run.read_history(epochs_done) if previous else [],
        progress,
    )
    progress.say(
        f"{model.name}: {model.count_params():,} parameters, "
        f"{strategy.num_replicas_in_sync} replica(s), batches of {config.batch_size}, "
        f"{plan.steps_per_epoch} steps an epoch, seed {config.seed}"
    )
    if epochs_done:
        progress.say(f"resuming after epoch {epochs_done}")
    if epochs_done < config.epochs:
        epochs = range(epochs_done, config.epochs)
        _LOOPS[config.loop](plan, epochs, recorder.epoch_ended, progress)
    else:
        progress.say(f"all {config.epochs} epochs are done already; raise --epochs for more")
    run.save_model(model, run.model)
    progress.say(f"model: {run.model}")
    return recorder.history[-1]


def evaluate(
    *,
    data: str,
    run_path: str,
    split: str | None,
    which: str,
    batch_size: int | None,
    devices: str,
    quiet: bool,
) -> Row:
    """Loss and metrics of a trained model on one split, each record counted once.

    Args:
        data: What `trainer.open` opens.
        run_path: What `train` made.
        split: None for "test", or the only one.
        which: "final" or "best": the model at the end, or of the best epoch.
        batch_size: Of the global batch; None for the training's.
        devices: As `strategy.parse_devices` reads them.
        quiet: Say nothing on stderr but errors.

    Raises:
        TrainerError: As the tree in errors.py says.
    """
    progress = Progress(quiet=quiet)
    run = RunDirectory(run_path)
    trained = run.read_config()
    file = {"final": run.model, "best": run.best_model}[which]
    if not file.exists():
        raise ConfigError(
            f"{run_path} has no {file.name}: its training did not end; go on with it by "
            "`python -m trainer train --resume`"
        )
    strategy = create_strategy(parse_devices(devices))
    global_batch = batch_size or int(trained["options"]["batch_size"])
    check_global_batch(global_batch, strategy.num_replicas_in_sync)
    dataset = open_dataset(data)
    task, _ = choose_task(trained["task"], dataset.features, trained["target"])
    if list(task.classes) != trained["classes"]:
        raise ConfigError(
            f"{data} has the classes {', '.join(task.classes)}, and the model of {run_path} "
            f"knows {', '.join(trained['classes'])}; evaluate on data of the same classes"
        )
    default = "test" if "test" in dataset.splits else None
    chosen = dataset.split(split or default).name
    with strategy.scope():
        model = keras.models.load_model(file, compile=False)
    height, width = trained["options"]["image_size"]
    batches = dataset.batches(
        chosen,
        batch_size=global_batch,
        features=task.features,
        target=task.target,
        image_size=(height, width),
        image_dtype="uint8",
    ).map(task.check)
    num_records = dataset.num_records(chosen)
    progress.say(f"evaluating {file} on the {num_records} records of {chosen!r}")
    result = evaluator(task, model, strategy, batches, global_batch, num_records)()
    return {**result, "num_records": num_records}


@contextlib.contextmanager
def readable_errors() -> Iterator[None]:
    """Turns what TensorFlow raises while it reads or trains into this package's errors."""
    try:
        yield
    except tf.errors.DataLossError as error:
        raise DatasetDamagedError(
            f"a shard is damaged: {error.message}; `python -m beam_pipeline verify` says which"
        ) from error
    except tf.errors.ResourceExhaustedError as error:
        raise TrainerError(
            f"out of memory: {error.message.splitlines()[0]}; lower --batch-size or --image-size"
        ) from error
    except tf.errors.OpError as error:
        raise TrainerError(f"TensorFlow failed: {error.message}") from error


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
        f"no validation: there is no split called {', '.join(_VALIDATION_NAMES)} among "
        f"{', '.join(dataset.splits)}; name one by --validation-split"
    )
    return None


def _image_size(features: Mapping[str, Feature], progress: Progress) -> tuple[int, int]:
    for feature in features.values():
        height, width = feature.shape[:2] if feature.kind == "image" else (None, None)
        if height is not None and width is not None:
            return height, width
    progress.say(
        f"images differ in size; resizing to {_DEFAULT_IMAGE_SIDE}x{_DEFAULT_IMAGE_SIDE} "
        "(--image-size)"
    )
    return _DEFAULT_IMAGE_SIDE, _DEFAULT_IMAGE_SIDE


def _size(config: TrainConfig) -> tuple[int, int]:
    assert config.image_size is not None
    return config.image_size


def _describe_data(dataset: Dataset, task: Task, train_split: str) -> dict[str, Any]:
    """What must not change between the parts of a resumed run."""
    return {
        "fingerprint": dataset.fingerprint,
        "train split": train_split,
        "number of training records": dataset.num_records(train_split),
        "classes": list(task.classes),
    }


def _steps_per_epoch(config: TrainConfig, num_records: int, progress: Progress) -> int:
    if num_records == 0:
        raise ConfigError(f"the train split of {config.data} has no records; build it again")
    if num_records < config.batch_size:
        progress.say(
            f"a batch of {config.batch_size} is more than the {num_records} training records; "
            "some come twice in a batch"
        )
    return config.steps_per_epoch or max(1, num_records // config.batch_size)


def _training_batches(
    dataset: Dataset, task: Task, config: TrainConfig, split: str
) -> Callable[[int], tf.data.Dataset]:
    def batches(first_record: int) -> tf.data.Dataset:
        return dataset.batches(
            split,
            batch_size=config.batch_size,
            features=task.features,
            target=task.target,
            image_size=config.image_size,
            image_dtype="uint8",  # a quarter of the bytes on their way to the device
            shuffle=True,
            seed=config.seed,
            repeat=True,
            first_record=first_record,
            drop_remainder=True,
        ).map(task.check)

    return batches


def _validator(
    dataset: Dataset, task: Task, config: TrainConfig, plan: Plan, split: str | None
) -> Callable[[], dict[str, float]] | None:
    if split is None:
        return None
    batches = dataset.batches(
        split,
        batch_size=config.batch_size,
        features=task.features,
        target=task.target,
        image_size=config.image_size,
        image_dtype="uint8",
    ).map(task.check)
    return evaluator(
        task, plan.model, plan.strategy, batches, config.batch_size, dataset.num_records(split)
    )
