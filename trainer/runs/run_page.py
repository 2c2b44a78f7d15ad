"""The page of a run, `report.html`: its validations, its figures, and when it is drawn."""

import contextlib
import dataclasses
import datetime
import functools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import keras
import numpy as np

from tfrecord_dataset import durable
from tfrecord_dataset.format import example
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists
from tfrecord_dataset.records.reader import RecordReader
from tfrecord_dataset.shown_text import number_text, shown, size_text
from trainer.dataset import Dataset
from trainer.options.command_options import ShowBatchConfig
from trainer.progress import Progress, time_text
from trainer.report import pictures
from trainer.report.history import Best, saved_place, shown_metric, verdict
from trainer.report.page import Pictured, Sections, html
from trainer.runs.choices import open_input
from trainer.runs.directory import Row
from trainer.runs.preparing import Prepared
from trainer.tasks import Task, boosted_trees
from trainer.tasks.baselines import Baseline
from trainer.tasks.figures import Accumulator, Example, Overlay, intervals, lowest_recalls
from trainer.tasks.inputs.image import check_images
from trainer.training.evaluation import evaluator
from trainer.training.loop import TrainingPlan

_MOST_OF_BATCH = 16
_MOST_EXAMPLES = 24
# Limits of an example's plain inputs.
_MOST_VALUES, _MOST_IN_LIST, _MOST_CHARACTERS = 12, 8, 200
_TIMES_OF_DRAWING = 20


class RunPage:
    """Validates a run and draws its report, in at most a twentieth of the time.

    The figures of the report are those of model.keras: of the best validation, or, if an earlier
    process made it, of an evaluation at the end.

    Attributes:
        best: What ranks validations.
    """

    def __init__(self, prepared: Prepared, plan: TrainingPlan) -> None:
        self.best = Best()
        self._baseline: Baseline | None = None  # trivial baseline, set by the first validation
        self._guessed: Row = {}
        self._started = datetime.datetime.now().astimezone()
        self._prepared = prepared
        self._plan = plan
        self._latest: Sequence[Accumulator] = ()  # of the last validation
        self._figures: Sequence[Accumulator] = ()  # of model.keras
        self._waiting: Sequence[Row] = ()
        self._next_s = 0.0

    @functools.cached_property
    def _evaluate(self) -> Callable[..., Row]:
        prepared, plan, split = self._prepared, self._plan, self._prepared.validation_split
        assert split is not None
        return evaluator(
            plan.task,
            plan.model,
            plan.strategy,
            prepared.dataset,
            split,
            plan.batch_size,
            prepared.caches[1],
        )

    def validate(
        self,
        num_batches: int | None = None,
        callbacks: keras.callbacks.CallbackList | None = None,
    ) -> Row:
        """Return loss and metrics of the plan's current model, for the report if it is the best.

        With `num_batches`, evaluate only these batches and leave the report unchanged.
        """
        goal = self._plan.task.goal
        accumulators = goal.accumulators()
        if num_batches:
            return self._evaluate(num_batches, accumulators)
        self._latest = accumulators
        if self._baseline is not None:  # equal for all validations
            return self._evaluate(None, accumulators, callbacks) | self._guessed
        baseline = goal.baseline()
        result = self._evaluate(None, [*accumulators, baseline], callbacks)
        self._baseline = baseline
        self._guessed = {baseline.key: result[baseline.key]}
        return result

    def sentences(self, history: Sequence[Row]) -> tuple[str, str]:
        """Return how the training went, and how its model compares with a trivial guess."""
        config = self._prepared.config
        best = self.best
        row = history[saved_place(history, best)]
        compared = ""
        if self._baseline is not None:
            compared = self._baseline.compare(_validated(row), shown_metric(row, best.metric))
            compared = "; ".join(filter(None, [compared, self._trees]))
        split = self._prepared.validation_split
        count = self._prepared.dataset.num_records(split) if split else 0
        known = intervals(self._figures)
        return verdict(history, best, config.epochs or 0, count, known), compared

    @functools.cached_property
    def _trees(self) -> str:
        """A sentence on boosted trees; "" for no table, or if the training has several workers."""
        prepared, task = self._prepared, self._plan.task
        if prepared.workers.count > 1 or not boosted_trees.are_possible(task):
            return ""
        split = prepared.validation_split
        assert split is not None
        return boosted_trees.reference(task, prepared.dataset, prepared.split, split)[1]

    def lowest_recalls(self) -> Iterator[str]:
        """Yield a line with the classes that model.keras finds least often."""
        return lowest_recalls(self._figures)

    def beats_guess(self, row: Row) -> bool:
        """Whether a row's validation is better than the trivial guess."""
        return self._baseline is None or self._baseline.is_beaten_by(_validated(row))

    @contextlib.contextmanager
    def completed(self) -> Iterator[None]:
        """Context of the training; at its end the report shows the last validation."""
        try:
            yield
        finally:
            if self._waiting:
                self._write(self._waiting)

    def evaluate_model(self, history: Sequence[Row]) -> None:
        """Evaluate model.keras for the figures; the plan's model has its weights afterwards.

        Several workers call this together.
        """
        self._prepared.run.load_best_weights(self._plan.model)
        self.validate()
        self._figures = self._latest
        self._waiting = history

    def draw(self, history: Sequence[Row]) -> None:
        """Write the report, unless it was written recently; the last row was just validated."""
        if saved_place(history, self.best) == len(history) - 1:
            self._figures = self._latest
        if (started := time.monotonic()) < self._next_s:
            self._waiting = history
            return
        self._waiting = ()
        self._write(history)
        self._next_s = started + _TIMES_OF_DRAWING * (time.monotonic() - started)

    def _write(self, history: Sequence[Row]) -> None:
        """Write the report; an error does not end the training."""
        run, task = self._prepared.run, self._plan.task
        try:
            page = html(
                run.path.absolute().name,
                self._prepared.config,
                history,
                self.best,
                sentence="; ".join(filter(None, self.sentences(history))),
                task=task.name,
                facts=[*self._facts()],
                rates=self._rates(history),
                sections=self._sections(history),
                added=task.more_metrics,
            )
            run.write_report(page)
        except Exception as error:  # a report must not end a training
            name = type(error).__name__
            self._prepared.progress.say(
                f"warning: {run.report} is not drawn ({name}: {error}); training continues"
            )

    def _sections(self, history: Sequence[Row]) -> Sections:
        prepared = self._prepared
        epoch = f"{history[saved_place(history, self.best)]['epoch']:.0f}"
        split = prepared.validation_split or ""
        awaited = f"The figures of epoch {epoch} follow when the training ends."
        return dataclasses.replace(
            sections_of(self._figures, self._plan.task, prepared.dataset, split),
            model=f"{prepared.run.model.name} of epoch {epoch}",
            batch=self._batch,
            data_report=report_of(prepared.dataset, prepared.run.path),
            awaited=awaited if split and not self._figures else "",
        )

    def _facts(self) -> Iterator[str]:
        """Yield the facts of the report's header: model, data, date and duration."""
        prepared, plan = self._prepared, self._plan
        name = prepared.config.model_fn or prepared.config.model
        yield f"{name}, {plan.model.count_params():,} parameters"
        fingerprint = prepared.data["fingerprint"]
        data = shown(prepared.config.data)
        yield f"data {data}" + (f" ({fingerprint[:16]})" if fingerprint else "")
        now = datetime.datetime.now().astimezone()
        seconds = (now - self._started).total_seconds()
        yield f"{now:%Y-%m-%d %H:%M}, after {time_text(seconds)}"

    def _rates(self, history: Sequence[Row]) -> list[tuple[float, float]]:
        """Return the learning rate of each epoch's last step, if it has a schedule."""
        rate = self._plan.schedule
        return [(row["epoch"], float(rate(row["step"] - 1))) for row in history] if rate else []

    @functools.cached_property
    def _batch(self) -> list[Pictured]:
        """Read the first batch again: the training's own is on its devices."""
        task = self._plan.task
        if not task.images:
            return []
        batch = next(iter(self._plan.batches_from(0).take(1)))
        return [
            Pictured(pictures={"": pictures.picture(pixels, overlay)}, text=text)
            for pixels, text, overlay in pictures.of_batch(task, batch, _MOST_OF_BATCH)
        ]


def report_of(dataset: Dataset, folder: Path) -> str:
    """Return the URL of a local dataset's report, relative to `folder`; "" if none."""
    report = Path(dataset.path, "report.html")
    return quote(os.path.relpath(report, folder.absolute())) if report.exists() else ""


def _validated(row: Row) -> Row:
    """Return a row's validation metrics, without the prefix of their names."""
    return {name[4:]: value for name, value in row.items() if name.startswith("val_")}


def sections_of(
    accumulators: Sequence[Accumulator], task: Task, dataset: Dataset, split: str
) -> Sections:
    """Return the figures and examples that accumulators collected in a split."""
    examples = [each for one in accumulators for each in one.examples()][:_MOST_EXAMPLES]
    return Sections(
        split=split,
        figures={name: value for one in accumulators for name, value in one.figures().items()},
        examples=[*_pictured(task, dataset, split, examples)],
    )


def _pictured(
    task: Task, dataset: Dataset, split: str, examples: Sequence[Example]
) -> Iterator[Pictured]:
    """Yield examples with where they come from, and their first image, or their plain inputs."""
    if not examples:
        return
    numbers = np.array([each.number for each in examples], np.int64)
    if split in dataset.parts:
        numbers = dataset.parts[split][numbers]
    sources = dataset.split(split).sources(numbers.tolist())
    image = dataset.features[task.images[0].name] if task.images else None
    plain = [] if image else [dataset.features[each.name] for each in task.inputs.values()]
    keys = [image.key, image.subkey("filename")] if image else [each.key for each in plain]
    records = RecordReader(dataset.index(split)).read(numbers)
    for each, record, source in zip(examples, records, sources, strict=True):
        lists = example.lists(record, keys)
        encoded = _first(lists, image.key) if image else b""
        file = _first(lists, image.subkey("filename")) if image else b""
        pixels = pictures.opened(encoded) if encoded else None
        drawn = {
            title: pictures.picture(pixels, overlay)
            for title, overlay in (each.overlays or {"": Overlay()}).items()
            if pixels is not None
        }
        yield Pictured(
            pictures=drawn,
            text=each.text,
            source=shown(file.decode(errors="replace") or source) or f"{split} {each.number}",
            values={one.name: _in_short(one, lists) for one in plain[:_MOST_VALUES]},
        )


def _first(lists: Lists, key: str) -> bytes:
    _, values = lists.get(key, ("", ()))
    return next(iter(values), b"")


def _in_short(feature: Feature, lists: Lists) -> str:
    """Return a feature's first values as text."""
    _, values = lists.get(feature.key, ("", ()))
    texts = ", ".join(map(_as_text, values[:_MOST_IN_LIST]))
    more = ", …" if len(values) > _MOST_IN_LIST else ""
    return shown(f"{texts}{more}"[:_MOST_CHARACTERS])


def _as_text(value: Any) -> str:
    """Return a number or text as text; the size of a file."""
    if not isinstance(value, bytes):
        return number_text(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return size_text(len(value))


def show_batch(config: ShowBatchConfig) -> str:
    """Draw the first batch of a training with these options; return the file's path.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    opened = open_input(config, Progress(quiet=config.quiet))
    remedy = "name one with --inputs, or another dataset with --data"
    check_images("show-batch", opened.task.inputs.values(), remedy)
    first = next(iter(opened.batches()))
    batch = pictures.of_batch(opened.task, first, opened.config.global_batch)
    durable.make_folders(os.fspath(Path(config.output).parent))
    with durable.replacing(config.output, synced=False) as handle:
        pictures.sheet(batch).save(handle, "PNG")
    return config.output
