"""The command `tune`: measures a training's input by stage, and names the bottleneck."""

import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from trainer import parsing
from trainer.input_pipeline.arguments import select
from trainer.input_pipeline.record_source import ReadOptions, RecordSource
from trainer.options.command_options import TuneConfig
from trainer.progress import Progress
from trainer.runs.choices import TrainingInput, open_input
from trainer.tasks.reading import augmentation_of
from trainer.tensors import unconverted

_SEED = 0
# Side of stored images for random crops, relative to the result's.
_FOR_CROPS = 1.4

# Remedies by stage.
_REMEDIES: Mapping[str, str] = {
    "read": "put the shards on a faster disk, or on this machine",
    "parse": "leave features out (--inputs), or build a dataset without those that are not used",
    "decode": "more CPU cores",
    "augment": "choose a cheaper --augment",
    "batch": "more CPU cores: batches are only copied and checked",
}


@unconverted
def tune(config: TuneConfig) -> dict[str, Any]:
    """Measure the input of a training.

    Returns:
        `records_per_s` by stage, including the stages before; the bottleneck `bounds`; and the
        `remedy`.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    progress = Progress(quiet=config.quiet)
    source = open_input(config, progress)
    progress.say(
        f"measuring {source.split!r} of {source.dataset.path}, {config.seconds:g} s a stage"
    )
    ladder = {stage: _rate(source, made, config.seconds) for stage, made in _stages(source)}
    for line in as_lines(ladder):
        progress.say(line)
    stage, _, _ = bound = find_bound(ladder)
    remedy, size = _REMEDIES[stage], source.task.decoding.image_size
    if stage == "decode" and size is not None:
        views = source.task.augmentation.views
        side = max(size) if views is None or views.are_whole else round(_FOR_CROPS * max(size))
        remedy = f"store smaller images (build --image-max-side {side}); or {remedy}"
    progress.say(f"{bound_line(*bound)}. Remedy: {remedy}")
    return {
        "records_per_s": {stage: round(rate, 1) for stage, rate in ladder.items()},
        "bounds": stage,
        "remedy": remedy,
    }


def seconds_by_stage(ladder: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds that each stage adds per record; noise below 0 counts as 0."""
    totals = [0.0, *itertools.accumulate((1 / rate for rate in ladder.values()), max)]
    added = (after - before for before, after in itertools.pairwise(totals))
    return dict(zip(ladder, added, strict=True))


def find_bound(ladder: Mapping[str, float]) -> tuple[str, float, float]:
    """Return the slowest stage, its share of the time, and the records per second without it."""
    seconds = seconds_by_stage(ladder)
    total = sum(seconds.values())
    stage = max(seconds, key=seconds.__getitem__)
    rest = total - seconds[stage]
    return stage, seconds[stage] / total, 1 / rest if rest > 0 else float("inf")


def bound_line(stage: str, share: float, rest: float) -> str:
    """Describe what `find_bound` returns."""
    without = f"; without it {rest:,.0f} records/s" if math.isfinite(rest) else ""
    return f"{stage} bounds: {share:.0%} of the time of a record{without}"


def as_lines(ladder: Mapping[str, float]) -> list[str]:
    """Format a table of the stages."""
    added = seconds_by_stage(ladder)
    return [
        f"{'up to':10}{'records/s':>12}{'adds µs a record':>18}",
        *(f"{each:10}{rate:12,.0f}{added[each] * 1e6:18,.0f}" for each, rate in ladder.items()),
    ]


def _rate(source: TrainingInput, batches: tf.data.Dataset, seconds: float) -> float:
    """Measure the records per second of an endless dataset."""
    iterator = iter(batches)
    next(iterator)
    _take(iterator, seconds / 3)  # uses up batches made before
    count, taken_s = _take(iterator, seconds)
    return count * source.config.global_batch / taken_s


def _stages(source: TrainingInput) -> Iterator[tuple[str, tf.data.Dataset]]:
    task, size = source.task, source.config.global_batch
    features = select(source.dataset.features, task.training_features, source.dataset.path)
    records = _records(source)
    spec = parsing.parse_specs(features)
    if parsing.reads_batches(features):
        parse = functools.partial(tf.io.parse_example, features=spec)
        made = functools.partial(records.map_batches, size=size, drop_remainder=True)
        yield "read", made(tf.strings.length)
        yield "parse", made(lambda batch: _little(parse(batch)))
    else:
        yield "read", records.map(lambda record, _: tf.strings.length(record)).batch(size)
        yield "parse", _mapped(source, lambda record, _: tf.io.parse_example(record, spec))
        plain = dataclasses.replace(task.decoding, seed=_SEED)
        yield "decode", _mapped(source, parsing.parser(features, plain, "a misfit"))
        views, augment = task.augmentation.views, augmentation_of(task, None)
        if views is not None or augment is not None:
            changed = dataclasses.replace(plain, views=views, augment=augment)
            yield "augment", _mapped(source, parsing.parser(features, changed, "a misfit"))
    yield "batch", source.batches()


def _records(source: TrainingInput) -> RecordSource:
    split = source.dataset.split(source.split)
    index = functools.partial(source.dataset.index, source.split)
    reading = ReadOptions(shuffle=True, seed=_SEED, passes=None)
    return RecordSource(split.shards, split.num_records, index, reading)


def _mapped(
    source: TrainingInput, function: Callable[[Any, Any], parsing.Tensors]
) -> tf.data.Dataset:
    """Reduce each result to one value, so all is computed but little is copied."""
    records = _records(source).map(lambda *record: _little(function(*record)))
    return records.batch(source.config.global_batch)


def _take(iterator: Iterator[Any], seconds: float) -> tuple[int, float]:
    """Take batches for at least `seconds`; return their number and the exact time."""
    began, count = time.monotonic(), 0
    while True:
        next(iterator)
        count += 1
        taken_s = time.monotonic() - began
        if taken_s >= seconds:
            return count, taken_s


def _little(tensors: parsing.Tensors) -> Any:
    flat = tf.nest.flatten(tensors, expand_composites=True)
    sizes = [tf.size(each) for each in flat if each.dtype == tf.string]
    firsts = [
        tf.reduce_sum(tf.cast(tf.reshape(each, [-1])[:1], tf.float32))
        for each in flat
        if each.dtype != tf.string
    ]
    return tf.add_n([tf.cast(size, tf.float32) for size in sizes] + firsts)
