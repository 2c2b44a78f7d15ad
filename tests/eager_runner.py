"""Runs a pipeline's transforms on lists, in this process, in milliseconds.

Beam's own runners take most of a second for any pipeline. Coders, bundles and concurrency need
tests that use them.
"""

import collections
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import DoOutputsTuple
from apache_beam.runners.common import DoFnRunner, Receiver
from apache_beam.transforms import core, userstate
from apache_beam.transforms.ptransform import _NamedPTransform
from apache_beam.transforms.sideinputs import SideInputMap
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from beam_pipeline.batch import RecordBatch
from beam_pipeline.records import Consumed
from beam_pipeline.running.runner import local_runner

Values = list[WindowedValue]

local_runner()  # its changes to Beam save more than half of the time
# Functions have no state either, for which Beam searches all methods of their wrappers.
_specs = userstate.get_dofn_specs
userstate.get_dofn_specs = lambda dofn: (
    (set(), set()) if isinstance(dofn, core.CallableWrapperDoFn) else _specs(dofn)
)
_OPTIONS = PipelineOptions([])


def yielded(transform: beam.PTransform) -> list[Any]:
    """Return a root transform's outputs as a build gets them: without `Consumed`."""
    found = EagerPipeline() | transform
    collections = found if isinstance(found, tuple) else (found,)
    values = (value.value for collection in collections for value in collection.values)
    return [value for value in by_record(values) if not isinstance(value, Consumed)]


def by_record(elements: Iterable[Any]) -> Iterator[Any]:
    """Yield elements, with rows split into records."""
    for element in elements:
        yield from element.records() if isinstance(element, RecordBatch) else [element]


class _Values(beam.PCollection):
    def __init__(self, pipeline: "EagerPipeline", values: Values) -> None:
        super().__init__(pipeline, windowing=core.Windowing(GlobalWindows()))
        self.values = values


class EagerPipeline(beam.Pipeline):
    """Runs each transform when it is applied, with all elements in one bundle."""

    def __init__(self) -> None:
        self.runner = None
        self._options = _OPTIONS

    def apply(self, transform: Any, pvalueish: Any = None, label: str | None = None) -> Any:
        if isinstance(transform, _NamedPTransform):
            return self.apply(transform.transform, pvalueish)
        if isinstance(transform, beam.Reshuffle):
            return pvalueish
        if isinstance(transform, beam.Create):
            return _Values(self, [GlobalWindows.windowed_value(each) for each in transform.values])
        if isinstance(transform, beam.Impulse):
            return _Values(self, [GlobalWindows.windowed_value(b"")])
        if isinstance(transform, beam.Flatten):
            return _Values(self, [value for each in pvalueish for value in each.values])
        if isinstance(transform, beam.GroupByKey):
            return _Values(self, _grouped(pvalueish.values))
        if isinstance(transform, core._MultiParDo):
            outputs = DoOutputsTuple(
                self, transform._do_transform, transform._tags, transform._main_tag
            )
            outputs._pcolls = self._processed(
                transform._do_transform, pvalueish, [None, *transform._tags]
            )
            return outputs
        if isinstance(transform, beam.ParDo):
            return self._processed(transform, pvalueish, [None])[None]
        return transform.expand(pvalueish)

    def _processed(
        self, transform: beam.ParDo, collection: _Values, tags: Sequence[str | None]
    ) -> dict[str | None, _Values]:
        outputs = {tag: _Received() for tag in tags}
        runner = DoFnRunner(
            transform.fn,
            transform.args,
            transform.kwargs,
            [
                SideInputMap(type(side), side._view_options(), side.pvalue.values)
                for side in transform.side_inputs
            ],
            collection.windowing,
            tagged_receivers=outputs,
            step_name=transform.label,
        )
        runner.setup()
        runner.start()
        for value in collection.values:
            runner.process(value)
        runner.finish()
        runner.teardown()
        return {tag: _Values(self, output.values) for tag, output in outputs.items()}


class _Received(Receiver):  # type: ignore[misc]
    """Collects a transform's outputs."""

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
