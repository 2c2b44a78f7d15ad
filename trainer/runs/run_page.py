"""What is drawn of a run: `RUN/report.html`, after each validation or later; `show-batch`."""

import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from tfrecord_dataset import durable
from tfrecord_dataset.format import example
from tfrecord_dataset.records.reader import RecordReader
from tfrecord_dataset.shown_text import shown
from trainer.dataset import Dataset
from trainer.errors import ConfigError
from trainer.options.commands import ReportConfig, ShowBatchConfig
from trainer.options.train import TrainConfig
from trainer.progress import Progress
from trainer.report import pictures
from trainer.report.history import steps_per_epoch
from trainer.report.logs import PaceLogs
from trainer.report.page import Pictured, Sections, Trained, html
from trainer.report.pictures import of_batch, sheet
from trainer.runs.choices import best_of
from trainer.runs.directory import Row, RunDirectory
from trainer.runs.preparing import Prepared, open_input, order_of
from trainer.tasks import Task
from trainer.tasks.figures import Accumulator, Example, Overlay
from trainer.tasks.inputs.image import check_images
from trainer.tasks.targets.results import results_of
from trainer.training.loop import Plan

Validate = Callable[..., dict[str, float]]

_MOST_OF_BATCH = 16
_MOST_EXAMPLES = 24


class RunPage:
    """The page of a run that trains."""

    def __init__(self, prepared: Prepared, plan: Plan) -> None:
        self._prepared = prepared
        self._plan = plan
        self._accumulators: Sequence[Accumulator] = ()
        self._baseline = ""

    def watching(self, validate: Validate) -> Validate:
        """The function `validate`, whose accumulators the page then shows."""

        def watched(num_batches: int | None = None) -> dict[str, float]:
            results = results_of(self._plan.task.goal)
            accumulators, baseline = results.accumulators(), results.baseline()
            if num_batches or self._baseline or baseline is None:
                result = validate(num_batches, accumulators)
            else:  # the same for all validations
                result = validate(num_batches, [*accumulators, baseline])
                self._baseline = baseline.describe(result.pop(baseline.key))
            self._accumulators = () if num_batches else accumulators
            return result

        return watched

    def draw(self, history: Sequence[Row]) -> None:
        """Writes the page; what keeps it from that is told, and no more."""
        prepared = self._prepared
        try:
            sections = self._sections()
            prepared.run.write_sections(dataclasses.asdict(sections))
            options, fingerprint = prepared.config, prepared.data["fingerprint"]
            task = self._plan.task.name
            _draw(prepared.run, options, fingerprint, task, history, self._pace, sections)
        except Exception as error:  # no picture is worth a training
            name = type(error).__name__
            prepared.progress.say(
                f"warning: {prepared.run.report} is not drawn ({name}: {error}); training goes on"
            )

    def _sections(self) -> Sections:
        split = self._prepared.validation_split or ""
        found = sections_of(self._accumulators, self._plan.task, self._prepared.dataset, split)
        return dataclasses.replace(found, batch=self._batch, baseline=self._baseline)

    @functools.cached_property
    def _pace(self) -> PaceLogs:
        return PaceLogs(self._prepared.run.logs / "train")

    @functools.cached_property
    def _batch(self) -> list[Pictured]:
        """The first batch, which is made again: that of the training is on its devices."""
        task = self._plan.task
        if not task.images:
            return []
        batch = next(iter(self._plan.batches_from(0).take(1)))
        return [
            Pictured(pictures={"": pictures.picture(pixels, overlay)}, text=text)
            for pixels, text, overlay in pictures.of_batch(task, batch, _MOST_OF_BATCH)
        ]


def report(command: ReportConfig) -> str:
    """The command `report`: writes the page by what the run holds; returns its path.

    The run may train at the same time.

    Raises:
        ConfigError: There is no such run, or it has no history yet.
        RunDamagedError: A file of a run is not what was written.
    """
    run = RunDirectory(command.run_path)
    config, history = run.read_config(), run.read_history()
    task, _ = run.read_task()
    if not history:
        raise ConfigError(
            f"{run.path} has nothing to report yet: history.csv comes with the first validation, "
            "or at the end of the first epoch; wait for it"
        )
    fingerprint, pace = config.data.get("fingerprint"), PaceLogs(run.logs / "train")
    _draw(run, config.options, fingerprint, task.name, history, pace, run.read_sections())
    return os.fspath(run.report)


def _draw(
    run: RunDirectory,
    options: TrainConfig,
    fingerprint: str | None,
    task: str,
    history: Sequence[Row],
    pace: PaceLogs,
    sections: Sections,
) -> None:
    page = html(
        _trained(run, options, history),
        task=task,
        fingerprint=fingerprint,
        pace=pace.read(steps_per_epoch(history)),
        sections=sections,
    )
    run.write_report(page)


def _trained(run: RunDirectory, options: TrainConfig, history: Sequence[Row]) -> Trained:
    best, name = best_of(options.best_by, history), run.path.absolute().name
    place = best.place(history)
    return Trained(name=name, options=options, history=history, best=place, metric=best.metric)


def sections_of(
    accumulators: Sequence[Accumulator], task: Task, dataset: Dataset, split: str
) -> Sections:
    """The figures and examples that accumulators have found in a split."""
    examples = [each for one in accumulators for each in one.examples()][:_MOST_EXAMPLES]
    return Sections(
        split=split,
        figures={name: value for one in accumulators for name, value in one.figures().items()},
        examples=[*_pictured(task, dataset, split, examples)],
    )


def _pictured(
    task: Task, dataset: Dataset, split: str, examples: Sequence[Example]
) -> Iterator[Pictured]:
    """Yield examples with the first image of their records, as the dataset has it."""
    if not examples:
        return
    index = dataset.index(split)
    numbers = np.array([each.number for each in examples], np.int64)
    if split in dataset.parts:
        numbers = dataset.parts[split][numbers]
    image = dataset.features[task.images[0].name] if task.images else None
    keys = set() if image is None else {image.key, image.key_beside("filename")}
    for each, record in zip(examples, RecordReader(index).read(numbers), strict=True):
        found = {key: values for key, (_, values) in example.lists(record, keys).items()}
        source = next(iter(found.get(image.key_beside("filename"), [])), b"") if image else b""
        name = shown(source.decode(errors="replace")) or f"{split} {each.number}"
        encoded = next(iter(found.get(image.key, [])), None) if image else None
        overlays = {} if encoded is None else each.overlays or {"": Overlay()}
        pixels = None if encoded is None else pictures.opened(encoded)
        drawn = {name: pictures.picture(pixels, overlay) for name, overlay in overlays.items()}
        yield Pictured(pictures=drawn, text=f"{name}: {each.text}")


def show_batch(config: ShowBatchConfig) -> str:
    """Draws the first batch that a training with these options sees; returns the file's path.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    found = open_input(config, Progress(quiet=config.quiet))
    check_images("show-batch", found.task.inputs.values())
    batches = found.batches(window=order_of(found.dataset, found.split).window)
    picture = sheet(of_batch(found.task, next(iter(batches)), found.config.global_batch))
    durable.make_folders(os.fspath(Path(config.output).parent))
    with durable.replacing(config.output, synced=False) as handle:
        picture.save(handle, "PNG")
    return config.output
