"""Compares training steps on GPUs with the input pipeline and on one resident batch.

    python benchmarks/gpu_training.py DATASET [--model ResNet50] [--image-size 224]
        [--batch-size 256] [--precision mixed_bfloat16] [--steps 100] [--runs 3] [--devices gpu]

The ratio shows whether the input keeps up with the GPUs. Prints images per second, the share of
time in which the GPUs were busy (nvidia-smi), and their peak memory.

Targets, with `--batch-size` 256 per GPU:

    --devices gpu:0          a ratio of 0.95 or more: the GPU does not wait for its input
    --devices gpu:0,1, gpu   the same ratio on 2 and 8 GPUs, and on one batch at least 0.9 times the
                             images per second of one GPU times the number of GPUs
"""

import argparse
import contextlib
import functools
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator

import keras
import tensorflow as tf

import trainer
from trainer.options import parse_devices
from trainer.options.train_options import TrainConfig
from trainer.tasks import choose_task, models
from trainer.tasks.reading import training_batches
from trainer.training.loop import TrainingPlan, train_function
from trainer.training.optimizers import create_optimizer
from trainer.training.strategy import create_strategy


def main() -> None:
    """Measures both alternately and prints the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset")
    parser.add_argument("--model", default="ResNet50")
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--precision", default="mixed_bfloat16")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--devices", default="gpu")
    args = parser.parse_args()
    keras.config.set_dtype_policy(args.precision)
    plan = make_plan(args)
    train = train_function(plan)
    batch = next(iter(plan.batches_from(0)))
    repeated = tf.data.Dataset.from_tensors(batch).repeat()
    sources = {
        "input pipeline": iter(plan.distributed_batches(0)),
        "one batch": iter(plan.strategy.experimental_distribute_dataset(repeated)),
    }
    for batches in sources.values():
        train(batches, tf.constant(5), tf.constant(0.0))  # compiles, and fills the buffers
    images: dict[str, list[float]] = {name: [] for name in sources}
    busy: dict[str, list[float]] = {name: [] for name in sources}
    for _ in range(args.runs):
        for name, batches in sources.items():
            with utilization(busy[name]):
                start = time.perf_counter()
                sums, *_ = train(batches, tf.constant(args.steps), tf.constant(0.0))
                sums.numpy()
                seconds = time.perf_counter() - start
            images[name].append(args.steps * args.batch_size / seconds)
    medians = {name: statistics.median(rates) for name, rates in images.items()}
    for name, rate in medians.items():
        share = f", GPUs busy {statistics.mean(busy[name]):.0f} %" if busy[name] else ""
        print(f"{name:15} {rate:8.0f} images/s{share}")
    print(f"ratio {medians['input pipeline'] / medians['one batch']:.2f}")
    for number, _ in enumerate(tf.config.list_logical_devices("GPU")):
        peak = tf.config.experimental.get_memory_info(f"GPU:{number}")["peak"]
        print(f"GPU {number}: peak {peak / 2**20:,.0f} MiB")


def make_plan(args: argparse.Namespace) -> TrainingPlan:
    """The plan of `train` with these options."""
    size = (args.image_size, args.image_size)
    strategy = create_strategy(parse_devices(args.devices))
    dataset = trainer.open(args.dataset)
    split = "train" if "train" in dataset.splits else next(iter(dataset.splits))
    options = TrainConfig(data=args.dataset, output="", image_size=size)
    task, _ = choose_task(dataset.features, options)
    with strategy.scope():
        model = models.build(task, args.model)
        optimizer = create_optimizer("sgd", 0.1)
        optimizer.build(model.trainable_variables)

    return TrainingPlan(
        task=task,
        model=model,
        optimizer=optimizer,
        strategy=strategy,
        batches=functools.partial(
            training_batches, task, dataset, split, batch_size=args.batch_size, seed=0
        ),
        batch_size=args.batch_size,
        steps_per_epoch=args.steps,
    )


@contextlib.contextmanager
def utilization(shares: list[float]) -> Iterator[None]:
    """Appends the GPUs' utilization in percent, from nvidia-smi twice a second."""
    ended = threading.Event()
    query = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]

    def look() -> None:
        while not ended.wait(0.5):
            done = subprocess.run(query, capture_output=True, text=True, check=True)
            shares.extend(map(float, done.stdout.split()))

    if not tf.config.list_physical_devices("GPU"):
        yield
        return
    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


if __name__ == "__main__":
    main()
