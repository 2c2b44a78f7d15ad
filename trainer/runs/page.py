"""`RUN/report.html` while a run trains: drawn after each validation, of what that has computed."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset import example
from tfrecord_dataset.records.reader import RecordReader
from tfrecord_dataset.shown_text import shown
from trainer.dataset import Dataset
from trainer.report import pictures
from trainer.report.logs import PaceLogs
from trainer.report.page import Pictured, RunFacts, html
from trainer.runs.directory import Row
from trainer.runs.preparing import Prepared
from trainer.tasks import Task
from trainer.tasks.accumulators import Accumulator
from trainer.tasks.figures import Example, Figured, Overlay
from trainer.training.loop import Plan

Validate = Callable[..., dict[str, float]]

_MOST_OF_BATCH = 16
_MOST_EXAMPLES = 24


class RunPage:
    """The page of a run that trains.

    Args:
        prepared: The run.
        plan: What is trained.
    """

    def __init__(self, prepared: Prepared, plan: Plan) -> None:
        self._prepared = prepared
        self._plan = plan
        self._accumulators: Sequence[Accumulator] = ()

    def watching(self, validate: Validate) -> Validate:
        """The function `validate`, whose accumulators the page then shows."""

        def watched(num_batches: int | None = None) -> dict[str, float]:
            accumulators = self._plan.task.goal.accumulators()
            result = validate(num_batches, accumulators)
            self._accumulators = () if num_batches else accumulators
            return result

        return watched

    def draw(self, history: Sequence[Row], best: int) -> None:
        """Writes the page; what keeps it from that is told, and no more."""
        prepared = self._prepared
        try:
            prepared.run.write_report(html(self._facts(history, best)))
        except Exception as error:  # no picture is worth a training
            name = type(error).__name__
            prepared.progress.say(
                f"warning: {prepared.run.report} is not drawn ({name}: {error}); training goes on"
            )

    def _facts(self, history: Sequence[Row], best: int) -> RunFacts:
        prepared, task = self._prepared, self._plan.task
        figured = [each for each in self._accumulators if isinstance(each, Figured)]
        examples = [each for one in figured for each in one.examples()][:_MOST_EXAMPLES]
        split = prepared.validation_split or ""
        return RunFacts(
            title=prepared.run.path.absolute().name,
            task=task.name,
            options=prepared.config,
            fingerprint=prepared.data["fingerprint"],
            history=history,
            best=best,
            pace=self._pace.read(self._plan.steps_per_epoch),
            batch=self._batch,
            split=split,
            figures=figures_of(figured),
            examples=list(pictured(task, prepared.dataset, split, examples)),
        )

    @functools.cached_property
    def _pace(self) -> PaceLogs:
        return PaceLogs(self._prepared.run.logs / "train")

    @functools.cached_property
    def _batch(self) -> list[Pictured]:
        """The first batch, which is made again: that of the training is on its devices."""
        task = self._plan.task
        if not task.images:
            return []
        (name, *_) = (name for name, each in task.inputs.items() if each is task.images[0])
        inputs = next(iter(self._plan.batches_from(0).take(1)))[0]
        return [
            Pictured(pictures={"": pictures.picture(pictures.of_pixels(image))}, text="")
            for image in inputs[name][:_MOST_OF_BATCH].numpy()
        ]


def figures_of(figured: Sequence[Figured]) -> Mapping[str, Any]:
    """What accumulators have to show, by section."""
    return {name: facts for each in figured for name, facts in each.figures().items()}


def pictured(
    task: Task, dataset: Dataset, split: str, examples: Sequence[Example]
) -> Iterator[Pictured]:
    """Examples with their images, as the dataset has them.

    Args:
        task: Whose first image is shown.
        dataset: With the records.
        split: Whose numbers the examples have.
        examples: In order.
    """
    if not examples:
        return
    index = dataset.index(split)
    numbers = np.array([each.number for each in examples], np.int64)
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
