"""The command `tune`: what bounds the input on this machine, and what may be tuned."""

import dataclasses
import os
from pathlib import Path
from typing import Any

from tfrecord_dataset import durable
from tfrecord_dataset.sealed_json import to_text
from trainer.image_cache import ImageCache
from trainer.options.commands import TuneConfig
from trainer.progress import Progress
from trainer.runs.batches import open_input
from trainer.tuner.ladder import WORTH, Remedy, as_lines, find_bound
from trainer.tuner.measuring import Measurement
from trainer.tuner.sized_images import images_to_store, try_sizes
from trainer.tuning import Tuning, cpu_count, usual_parallel_calls

__all__ = ["tune"]


def tune(config: TuneConfig) -> dict[str, Any]:
    """Measures the input of a training, and writes what may be tuned.

    Returns:
        `records_per_s` by stage, the stage that `bounds`, what was `tried` where that is the
        decoding, and the `tuning`.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    progress = Progress(quiet=config.quiet)
    measurement = Measurement(**vars(open_input(config, progress)), seconds=config.seconds)
    where = f"{measurement.split!r} of {measurement.dataset.path}"
    progress.say(f"measuring {where}, {config.seconds:g} s a stage")
    ladder = measurement.ladder()
    for line in as_lines(ladder):
        progress.say(line)
    rate = ladder["batch"]
    place, cached_rate = _with_cache(config, measurement, progress)
    tried = []
    if find_bound(ladder).stage == "decode":
        if place is not None:
            tried.append(Remedy(text=f"train --cache {place}", records_per_s=cached_rate))
        for remedy in try_sizes(measurement):
            progress.say(f"{remedy}, on a sample")
            tried.append(remedy)
    bound = find_bound(ladder, tried)
    progress.say(
        f"{bound.stage} bounds: {bound.share:.0%} of the time of a record; without it "
        f"{bound.records_per_s:,.0f} records/s. Remedy: {bound.remedy}"
    )
    tuning = Tuning(
        parallel_calls=_parallel_calls(measurement, rate, progress),
        cache=place if cached_rate > rate * WORTH else None,
    )
    output = Path(config.output)
    durable.make_folders(os.fspath(output.parent))
    durable.write(config.output, to_text(tuning.to_json()).encode())
    progress.say(f"tuning: {output} (train --tuning {output})")
    rates = ladder if place is None else {**ladder, f"batch, {place}": cached_rate}
    return {
        "records_per_s": {stage: round(rate, 1) for stage, rate in rates.items()},
        "bounds": bound.stage,
        "tried": [dataclasses.asdict(each) for each in tried],
        "tuning": tuning.to_json(),
    }


def _with_cache(
    config: TuneConfig, measurement: Measurement, progress: Progress
) -> tuple[str | None, float]:
    """Where "auto" would keep images, or None, and the records a second that this reaches."""
    task, dataset = measurement.task, measurement.dataset
    images = images_to_store(measurement)
    asked = ImageCache()
    views, size = task.augmentation.views, task.decoding.image_size
    cache = dataset.image_cache(measurement.split, asked, images, views, size)
    if cache.place == "none":
        return None, 0.0
    rate = measurement.cached_rate(cache)
    progress.say(f"with decoded images in {cache.place}, from the second epoch: {rate:,.0f}/s")
    return cache.place, rate


def _parallel_calls(measurement: Measurement, rate: float, progress: Progress) -> int | None:
    """Records to decode at once, where another number beats the usual one."""
    best, chosen = rate * WORTH, None
    usual = usual_parallel_calls()
    for count in (cpu_count(), 2 * usual):
        found = measurement.rate(measurement.batches(tuning=Tuning(parallel_calls=count)))
        progress.say(f"{count} records at once: {found:,.0f}/s, {usual} at once: {rate:,.0f}/s")
        if found > best:
            best, chosen = found, count
    return chosen
