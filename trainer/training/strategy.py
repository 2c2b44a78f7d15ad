"""Creates `tf.distribute` strategies from names of devices."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfrecord_dataset.shown_text import counted
from trainer.errors import ConfigError
from trainer.options import Devices
from trainer.workers import ONE_PROCESS, Workers


def create_strategy(devices: Devices, workers: Workers = ONE_PROCESS) -> tf.distribute.Strategy:
    """Make a strategy with one replica per device, mirrored over all workers.

    Gradients are summed by NCCL between GPUs, and on one device between logical CPUs.
    Call it before any other use of TensorFlow: logical CPUs can only be created before TensorFlow
    initialises its devices.

    Raises:
        ConfigError: A GPU does not exist, or TensorFlow has already started with too few CPUs.
    """
    if workers.count > 1:
        if devices.num_cpus > 1 or devices.gpus:
            raise ConfigError(
                "several workers (TF_CONFIG) need --devices auto, cpu or gpu: each uses all of its "
                "machine's GPUs, or one CPU"
            )
        if devices.kind == "cpu":
            tf.config.set_visible_devices([], "GPU")
        return tf.distribute.MultiWorkerMirroredStrategy()
    gpus = tf.config.list_physical_devices("GPU")
    if devices.kind == "gpu" or (devices.kind == "auto" and gpus):
        return _gpu_strategy([gpu.name for gpu in gpus], devices)
    _make_logical_cpus(devices.num_cpus)
    return tf.distribute.MirroredStrategy(
        [f"/cpu:{number}" for number in range(devices.num_cpus)],
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )


def _gpu_strategy(names: list[str], devices: Devices) -> tf.distribute.MirroredStrategy:
    numbers = devices.gpus or tuple(range(len(names)))
    if not names or max(numbers) >= len(names):
        available = ", ".join(map(str, range(len(names)))) or "none"
        raise ConfigError(
            f"--devices asks for GPU {', '.join(map(str, numbers)) or '(any)'}, but TensorFlow has "
            f"{available}; name others, use cpu:N, or install tensorflow[and-cuda]"
        )
    for gpu in tf.config.list_physical_devices("GPU"):
        try:
            tf.config.experimental.set_memory_growth(gpu, True)
        except RuntimeError:
            break  # TensorFlow already started and allocated memory
    operations = tf.distribute.NcclAllReduce() if len(numbers) > 1 else None
    return tf.distribute.MirroredStrategy(
        [f"/gpu:{number}" for number in numbers], cross_device_ops=operations
    )


def _make_logical_cpus(count: int) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    configured = tf.config.get_logical_device_configuration(cpu) or [None]
    if len(configured) >= count:
        return
    try:
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration() for _ in range(count)]
        )
    except RuntimeError as error:
        raise ConfigError(
            f"TensorFlow has started with {counted(len(configured), 'CPU device')}, but "
            f"cpu:{count} needs {count}; create the strategy before any other use of TensorFlow in "
            "this process"
        ) from error


def has_other_workers(strategy: tf.distribute.Strategy) -> bool:
    """Whether there are other worker processes."""
    return isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)


def distributed(
    strategy: tf.distribute.Strategy, batches: Callable[..., tf.data.Dataset], batch_size: int
) -> Any:
    """Distribute global batches of `batch_size` in equal parts to all replicas.

    `batches` returns them; with several workers it takes `worker` and `num_workers`, and returns
    that worker's parts.
    """
    if not has_other_workers(strategy):
        return strategy.experimental_distribute_dataset(batches())

    def part(context: tf.distribute.InputContext) -> tf.data.Dataset:
        worker, num_workers = context.input_pipeline_id, context.num_input_pipelines
        own = batches(worker=worker, num_workers=num_workers)
        return own.rebatch(batch_size // context.num_replicas_in_sync)

    return strategy.distribute_datasets_from_function(part)


def check_global_batch(batch_size: int, num_replicas: int) -> None:
    """Raise ConfigError unless all replicas get equal parts of the global batch."""
    if batch_size < 1 or batch_size % num_replicas:
        below = batch_size - batch_size % num_replicas
        nearest = [str(size) for size in (below, below + num_replicas) if size > 0]
        raise ConfigError(
            f"--batch-size {batch_size} is the global batch, but {num_replicas} replicas cannot "
            f"share it evenly; use a multiple of {num_replicas}, such as {' or '.join(nearest)}"
        )
