"""Runs a pipeline's transforms on lists, in this process: what they yield, in some milliseconds.

Beam's own runners take most of a second for any pipeline. What only they show (pickling, coders,
bundles, many at once) is for tests that run them.
"""

import collections
import functools
from collections.abc import Iterable
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pipeline import AppliedPTransform, PipelineVisitor
from apache_beam.runners.common import DoFnRunner, Receiver
from apache_beam.runners.runner import PipelineResult, PipelineRunner, PipelineState
from apache_beam.transforms import core
from apache_beam.transforms.sideinputs import SideInputMap
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from beam_pipeline.running.local_runner import local_runner
from beam_pipeline.running.options import JobOptions

Values = list[WindowedValue]

# Beam reads the source of every DoFn that is made, for a warning; once is enough.
_check = functools.cache(core._check_fn_use_yield_and_return)
core._check_fn_use_yield_and_return = lambda function: _check(
    getattr(function, "__code__", function)
)


class _Options(JobOptions):
    def __deepcopy__(self, memo: dict[int, Any]) -> "_Options":
        """Itself: to copy and read options anew takes a third of a small pipeline's time."""
        return self

    def get_all_options(self, **how: bool) -> dict[str, Any]:
        """None: Beam asks for them for its warnings alone, and makes a parser each time."""
        return {}


OPTIONS = _Options(["--no_pipeline_type_check"])


def yielded(transform: beam.PTransform) -> list[Any]:
    """All that a root transform yields."""
    runner = EagerRunner()
    with beam.Pipeline(runner=runner, options=OPTIONS) as pipeline:
        collection = pipeline | transform
    return [value.value for value in runner.values[collection]]


class EagerRunner(PipelineRunner):
    """Each transform at once, on all that the ones before it have yielded, as one bundle."""

    def __init__(self) -> None:
        super().__init__()
        local_runner()  # what it changes of Beam saves more than half of the time
        self.values: dict[beam.PCollection, Values] = {}

    def apply(self, transform: Any, input: Any, options: PipelineOptions) -> Any:
        if isinstance(transform, beam.Reshuffle):
            return input
        return super().apply(transform, input, options)

    def run_pipeline(self, pipeline: beam.Pipeline, options: PipelineOptions) -> PipelineResult:
        pipeline.visit(_Evaluation(self.values))
        return _Done(PipelineState.DONE)


class _Done(PipelineResult):
    def wait_until_finish(self, duration: int | None = None) -> str:
        return PipelineState.DONE


class _Evaluation(PipelineVisitor):
    def __init__(self, values: dict[beam.PCollection, Values]) -> None:
        self.values = values

    def visit_transform(self, applied: AppliedPTransform) -> None:
        inputs = [self.values[each] for each in applied.inputs if each in self.values]
        transform = applied.transform
        outputs: dict[str | None, Values]
        if isinstance(transform, beam.Impulse):
            outputs = {None: [GlobalWindows.windowed_value(b"")]}
        elif isinstance(transform, beam.Flatten):
            outputs = {None: [value for values in inputs for value in values]}
        elif isinstance(transform, beam.GroupByKey):
            outputs = {None: _grouped(inputs[0])}
        elif isinstance(transform, beam.ParDo):
            outputs = self._processed(applied, inputs[0])
        else:
            raise NotImplementedError(f"{applied.full_label} is {transform!r}")
        for tag, collection in applied.outputs.items():
            self.values[collection] = outputs[tag]

    def _processed(self, applied: AppliedPTransform, values: Values) -> dict[str | None, Values]:
        outputs = {tag: _Received() for tag in (None, *applied.outputs)}
        runner = DoFnRunner(
            applied.transform.fn,
            applied.transform.args,
            applied.transform.kwargs,
            [
                SideInputMap(type(side), side._view_options(), self.values[side.pvalue])
                for side in applied.side_inputs
            ],
            applied.inputs[0].windowing,
            tagged_receivers=outputs,
            step_name=applied.full_label,
        )
        runner.setup()
        runner.start()
        for value in values:
            runner.process(value)
        runner.finish()
        runner.teardown()
        return {tag: each.values for tag, each in outputs.items()}


class _Received(Receiver):  # type: ignore[misc]
    """Keeps what a transform yields."""

    def __init__(self) -> None:
        self.values: Values = []

    def receive(self, value: WindowedValue) -> None:
        self.values.append(value)


def _grouped(values: Iterable[WindowedValue]) -> Values:
    groups: dict[Any, list[Any]] = collections.defaultdict(list)
    for value in values:
        key, item = value.value
        groups[key].append(item)
    return [GlobalWindows.windowed_value(group) for group in groups.items()]
