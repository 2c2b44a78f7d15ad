"""Workers that are given the shards of a dataset: processes here, or a job of another runner."""

import abc
import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.errors import CountMismatchError
from beam_pipeline.files import storage
from beam_pipeline.running.failures import check_folder, errors_handed_over
from beam_pipeline.running.gathering import Balance, Merge
from beam_pipeline.running.job import watched
from beam_pipeline.running.locked_folders import temporary_folder
from beam_pipeline.running.parallel import map_shards
from beam_pipeline.running.remote.clusters import Cluster
from beam_pipeline.running.remote.launch import Launch, cluster_of, job_name
from beam_pipeline.running.runner import Job, choose_runner
from beam_pipeline.running.shared_values import SharedValues

_T = TypeVar("_T")
_R = TypeVar("_R")
_RESULTS = "results"


class ShardWorkers(abc.ABC):
    """Processes that call a function with every shard.

    Attributes:
        progress_dir: Folder for the counts of records.
        values: What a function may keep for the next one.
    """

    progress_dir: str
    values: SharedValues

    @abc.abstractmethod
    def map(
        self, function: Callable[[_T], _R], shards: Sequence[_T], paths: Sequence[str]
    ) -> list[_R]:
        """Return a function's result of each shard, in order.

        Args:
            paths: The shards' files.

        Raises:
            BeamTFRecordsError: The function raised it, or the job failed.
        """


class _Here(ShardWorkers):
    def __init__(self, job: Job, folder: str):
        self.progress_dir, self.values = job.progress_dir, SharedValues(folder)
        self._processes = job.processes

    def map(
        self, function: Callable[[_T], _R], shards: Sequence[_T], paths: Sequence[str]
    ) -> list[_R]:
        return map_shards(function, shards, paths, self._processes)


class _OfRunner(ShardWorkers):
    def __init__(self, cluster: Cluster, options: PipelineOptions, name: str, folder: str):
        self._cluster, self._options, self._name, self._folder = cluster, options, name, folder
        self._launch = self._next_launch()
        self.progress_dir = self._launch.job.progress_dir
        self.values = SharedValues(storage.join(folder, "values"))

    @property
    def has_ended(self) -> bool:
        return self._launch.has_ended

    def _next_launch(self) -> Launch:
        launch = Launch(self._cluster, storage.join(self._folder, "job"), self._name, lambda: "")
        launch.check_is_first()
        return launch

    def map(
        self, function: Callable[[_T], _R], shards: Sequence[_T], paths: Sequence[str]
    ) -> list[_R]:
        self._launch = self._next_launch()
        call = beam.ParDo(CallWithShards(function, self._launch.job))

        def add_stages(pipeline: beam.Pipeline) -> None:
            (
                pipeline
                | "Shards" >> beam.Create([*enumerate(shards)], reshuffle=False)  # (number, shard)
                | "Balance" >> Balance()
                | "CallWithShards" >> call  # (number, result)
                | "Save" >> Merge(functools.partial(_save, values=self.values))
            )

        self._launch.run(self._options, add_stages)
        results: dict[int, _R] = dict(self.values.load(_RESULTS))
        if len(results) != len(shards):
            raise CountMismatchError(
                f"the job has the results of {len(results):,} of {len(shards):,} shards; run the "
                "same command again"
            )
        return [results[number] for number in range(len(shards))]


@dataclasses.dataclass
class CallWithShards(beam.DoFn):
    """Call a function with shards.

    Attributes:
        function: The function.
        job: The job.
    """

    function: Callable[[Any], Any]
    job: Job

    def process(self, shard: tuple[int, Any]) -> Iterator[tuple[int, Any]]:
        with errors_handed_over(self.job):
            check_folder(self.job)
            yield shard[0], self.function(shard[1])


def _save(results: Iterable[tuple[int, Any]], values: SharedValues) -> None:
    """Write (number, result), once each: a stage that ran again may yield a shard twice."""
    values.save(_RESULTS, dict(results).items())


@contextlib.contextmanager
def shard_workers(
    options: PipelineOptions, name: str, directory: str, folder: str
) -> Iterator[ShardWorkers]:
    """Start workers for a dataset, by the runner that `options` name.

    Args:
        name: Begins the names of jobs.
        directory: The dataset's directory.
        folder: Place for a job's files, which all its machines see; deleted at the end.

    Raises:
        ConfigError: The runner cannot do it, or an earlier job for the dataset still runs.
        UnavailableError: The runner does not answer.
    """
    if choose_runner(options) is not None:
        with watched(options) as job, temporary_folder() as scratch:
            yield _Here(job, scratch)
        return
    cluster = cluster_of(options)
    cluster.prepare(folder, [directory])
    workers = _OfRunner(cluster, options, job_name(options, name, directory), folder)
    try:
        yield workers
    finally:
        if workers.has_ended:
            storage.delete([folder])
