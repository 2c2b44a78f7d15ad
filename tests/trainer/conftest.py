"""Datasets written by TensorFlow itself, and four logical CPUs."""

import functools
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import pytest
import tensorflow as tf
from kinds_of_learning import choose, declare, directory_of, run_of, training
from tensorflow.python.framework import config as tensorflow_config
from tensorflow_examples import Values, write_examples

from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.json_file import sealed

__all__ = ["choose", "declare", "directory_of", "run_of"]  # fixtures

# Must precede TensorFlow's device initialisation; tests with one replica use the first.
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 4
)

COLORS = {"blue": (40, 60, 200), "green": (50, 190, 60), "red": (200, 40, 50)}

NUMBER, IMAGE, LABEL, BOXES = (
    feature.to_json()
    for feature in features_from_json(
        {
            "number": {"kind": "scalar", "dtype": "int64"},
            "image": {
                "kind": "image",
                "shape": [None, None, 3],
                "key": "image/encoded",
                "format": "png",
            },
            "label": {"kind": "class_label", "key": "image/class/label", "classes": [*COLORS]},
            "boxes": {
                **{"kind": "boxes", "key": "image/object", "classes": ["cat", "dog"]},
                "attributes": {"difficult": "int64", "area": "float32"},
            },
        }
    ).values()
)


def _write_dataset(
    directory: Path,
    features: list[dict[str, Any]],
    splits: Mapping[str, list[Values]],
    *,
    num_shards: int = 2,
    compression: str = "",
) -> Path:
    """Write shards and metadata.json as the format specifies."""
    directory.mkdir(parents=True)
    described = {}
    for split, records in splits.items():
        shards = []
        for shard in range(num_shards):
            name = f"tiny-{split}.tfrecord-{shard:05d}-of-{num_shards:05d}"
            write_examples(directory / name, records[shard::num_shards], compression)
            content = (directory / name).read_bytes()
            shards.append(
                {
                    "file": name,
                    "num_records": len(records[shard::num_shards]),
                    "num_bytes": len(content),
                    "sha256": hashlib.sha256(content).hexdigest(),
                }
            )
        described[split] = {
            "num_records": len(records),
            "num_bytes": sum(shard["num_bytes"] for shard in shards),
            "shards": shards,
        }
    metadata = {
        "format_version": 3,
        "name": "tiny",
        "version": directory.name,
        "features": features,
        "splits": described,
        "classes": next((feature["classes"] for feature in features if "classes" in feature), []),
        "fingerprint": "f" * 8,
    }
    (directory / "metadata.json").write_text(sealed(metadata))
    return directory


def _png(pixels: Any) -> bytes:
    """Encode uint8 [height, width, channels] as PNG."""
    return bytes(tf.io.encode_png(np.asarray(pixels, np.uint8)).numpy())


def _colored_record(number: int, label: int, size: tuple[int, int] = (20, 24)) -> dict[str, Any]:
    """A noisy image in the color of its class; `number` identifies the record."""
    noise = np.random.default_rng(number).integers(-40, 40, (*size, 3))
    pixels = np.clip(np.array(list(COLORS.values())[label]) + noise, 0, 255)
    return {"image/encoded": _png(pixels), "image/class/label": label, "number": number}


def _colored_records(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Images of three classes in turn, numbered from `first`."""
    return [_colored_record(number, number % 3) for number in range(first, first + count)]


@pytest.fixture(scope="session")
def write_records() -> Callable[..., None]:
    """`write_examples`."""
    return write_examples


@pytest.fixture(scope="session")
def write_dataset() -> Callable[..., Path]:
    """`_write_dataset`."""
    return _write_dataset


@pytest.fixture(scope="session")
def colored_records() -> Callable[..., list[dict[str, Any]]]:
    """`_colored_records`."""
    return _colored_records


@pytest.fixture(scope="session")
def png() -> Callable[[Any], bytes]:
    """`_png`."""
    return _png


@pytest.fixture(scope="session")
def schema() -> dict[str, dict[str, Any]]:
    """Features by name, as in metadata.json."""
    return {feature["name"]: feature for feature in (IMAGE, LABEL, BOXES, NUMBER)}


@pytest.fixture(scope="session")
def colors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset directory: 50 training, 13 validation and 7 test images in three colors."""
    return _write_dataset(
        tmp_path_factory.mktemp("data") / "tiny" / "1.0.0",
        [IMAGE, LABEL, NUMBER],
        {
            "train": _colored_records(50),
            "validation": _colored_records(13, first=50),
            "test": _colored_records(7, first=63),
        },
        num_shards=3,
    )


@pytest.fixture(scope="session")
def dataset(colors: Path) -> Any:
    """The images of `colors`, opened; for tests that only read them."""
    import trainer

    return trainer.open(colors)


@pytest.fixture(scope="session")
def on_replicas() -> Callable[[int], tf.distribute.Strategy]:
    """A function from a number of replicas to a strategy on logical CPUs."""
    from trainer.options import parse_devices
    from trainer.training.strategy import create_strategy

    return functools.cache(lambda count: create_strategy(parse_devices(f"cpu:{count}")))


@pytest.fixture(scope="session")
def one_replica(on_replicas: Callable[[int], tf.distribute.Strategy]) -> tf.distribute.Strategy:
    """One CPU."""
    return on_replicas(1)


@pytest.fixture(scope="session")
def two_replicas(on_replicas: Callable[[int], tf.distribute.Strategy]) -> tf.distribute.Strategy:
    """Two logical CPUs."""
    return on_replicas(2)


@pytest.fixture(scope="session")
def make_plan(colors: Path) -> Callable[..., Any]:
    """A function of (strategy, optimizer or its options) that always returns the same TrainingPlan.

    Global batches are 8 images of 16 x 16 pixels in the same order; first weights are equal.
    """
    import trainer
    from trainer.tasks import choose_task
    from trainer.tasks.reading import training_batches
    from trainer.training.loop import TrainingPlan
    from trainer.training.optimizers import create_optimizer

    dataset = trainer.open(colors)
    task, _ = choose_task(dataset.features, training(image_size=16))

    batches = functools.partial(training_batches, task, dataset, "train", batch_size=8, seed=5)

    def tiny_model() -> keras.Model:
        return keras.Sequential(
            [
                keras.Input((16, 16, 3)),
                keras.layers.Conv2D(16, 3, strides=2),
                keras.layers.GroupNormalization(4),
                keras.layers.ReLU(),
                keras.layers.Flatten(),
                keras.layers.Dense(3),
            ]
        )

    def make(
        strategy: tf.distribute.Strategy,
        optimizer: Any = None,
        *,
        steps_per_epoch: int = 10,
        model: Callable[[], keras.Model] = tiny_model,
        clip_norm: float | None = None,
        plan: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> TrainingPlan:
        keras.utils.set_random_seed(3)
        with strategy.scope():
            built = model()
            made = optimizer() if optimizer else create_optimizer("sgd", 0.01, **settings)
            made.build(built.trainable_variables)
        return TrainingPlan(
            task=task,
            model=built,
            optimizer=made,
            strategy=strategy,
            batches=batches,
            batch_size=8,
            steps_per_epoch=steps_per_epoch,
            clip_norm=clip_norm,
            **{"steps_per_call": 4, **(plan or {})},
        )

    return make


@pytest.fixture
def start(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """A function from a command's arguments to its exit code, stdout and stderr."""
    from trainer.commands import main

    def run(*words: Any) -> tuple[int, str, str]:
        code = main([*map(str, words)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterable[Path]:
    """The user's cache folder, replaced for the tests."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def settings_of_the_process_end_with_the_test() -> Iterator[None]:
    """Reset `--deterministic` and `--precision`, which are set for the process."""
    yield
    tensorflow_config.disable_op_determinism()
    keras.config.set_dtype_policy("float32")


@pytest.fixture
def bfloat16() -> None:
    """Mixed precision, as `--precision mixed_bfloat16` sets it."""
    keras.config.set_dtype_policy("mixed_bfloat16")
