"""Checks the shards of a dataset as a job of another runner."""

import dataclasses
import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.dataset.opening import Dataset, check_unchanged
from beam_pipeline.dataset.opening import open as open_dataset
from beam_pipeline.dataset.shards import one_by_one, verify_shard
from beam_pipeline.errors import CountMismatchError
from beam_pipeline.files import storage
from beam_pipeline.running.failures import errors_handed_over
from beam_pipeline.running.gathering import Balance, Merge
from beam_pipeline.running.remote.clusters import cluster_of
from beam_pipeline.running.remote.launch import Launch, job_name
from beam_pipeline.running.runner import Job

_Verified = tuple[int, list[str]]
"""The number of a shard, and a line for each of its problems."""


@dataclasses.dataclass
class VerifyShards(beam.DoFn):
    """Check shards by their numbers.

    Attributes:
        path: The dataset's directory.
        sha256: Identifies the dataset that the launcher has opened.
        job: The job.
    """

    path: str
    sha256: str
    job: Job

    def setup(self) -> None:
        self._shards: Sequence[Dataset] = ()

    def process(self, number: int) -> Iterator[_Verified]:
        with errors_handed_over(self.job):
            if not self._shards:
                info = open_dataset(self.path)
                check_unchanged(dataclasses.replace(info, sha256=self.sha256))
                self._shards = [*one_by_one(info)]
            yield number, verify_shard(self._shards[number], self.job.progress_dir)


def shard_problems(info: Dataset, options: PipelineOptions) -> list[str]:
    """Check all shards on the runner that `options` name; return a line for each problem.

    Raises:
        BeamTFRecordsError: The job failed.
    """
    folder, _, version = info.path.rpartition("/")
    folder = storage.join(folder, f".verify-{version}")
    result = storage.join(folder, "result.json")
    cluster = cluster_of(options)
    cluster.prepare(folder, [info.path])
    name = job_name(options, f"verify-{info.metadata['name']}", info.path)
    launch = Launch(cluster, storage.join(folder, "job"), name, lambda: "")
    launch.check_is_first()
    count = sum(map(len, info.splits.values()))
    verify = beam.ParDo(VerifyShards(info.path, info.sha256, launch.job))

    def add_stages(pipeline: beam.Pipeline) -> None:
        (
            pipeline
            | "Shards" >> beam.Create(range(count), reshuffle=False)  # int
            | "Balance" >> Balance()
            | "VerifyShards" >> verify  # _Verified
            | "Save" >> Merge(functools.partial(_save, path=result))
        )

    try:
        launch.run(options, add_stages)
        found = json.loads(storage.read_text(result))
    finally:
        if launch.has_ended:
            storage.delete([folder])
    if found["shards"] != count:
        raise CountMismatchError(
            f"the job checked {found['shards']:,} of {count:,} shards; run the same command again"
        )
    return [*found["problems"]]


def _save(verified: Iterable[_Verified], path: str) -> None:
    """Write the number of shards, and their problems in order."""
    by_number = dict(verified)  # a stage that ran again may yield a shard twice
    lines = itertools.chain.from_iterable(by_number[number] for number in sorted(by_number))
    text = json.dumps({"shards": len(by_number), "problems": [*lines]})
    storage.write_bytes(path, text.encode())
