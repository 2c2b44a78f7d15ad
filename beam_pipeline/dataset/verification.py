"""Verify: all that a dataset states of itself is compared with what is there."""

import functools
from collections.abc import Iterator

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.dataset.description_verification import description_problems
from beam_pipeline.dataset.opening import DatasetInfo
from beam_pipeline.dataset.shard_parallelism import map_shards
from beam_pipeline.dataset.shard_verification import shard_problems
from beam_pipeline.files import storage
from beam_pipeline.running.job import watched


def verify(info: DatasetInfo) -> list[str]:
    """What is wrong with the dataset, a line each; an empty list when all is well.

    Checked: every shard's presence, sha256, number of records and bytes; both checksums of
    every record; that it is an Example with all keys of the schema, of its kinds, lengths and
    ranges; that every image has the sha256 that its record states, all audio the sample
    rate, samples and channels; that both indices have the records and their offsets; the sums
    of metadata.json, and what dataset_info.json, features.json and the files of class names
    repeat of it.
    """
    shards = [shard for entries in info.splits.values() for shard in entries]
    paths = [storage.join(info.directory, shard.file) for shard in shards]
    with watched(PipelineOptions([])) as local:
        problems_of = functools.partial(
            shard_problems,
            directory=info.directory,
            features=info.features,
            compressed=info.compressed,
            format_version=info.format_version,
            progress_dir=local.progress_dir,
        )
        of_shards = map_shards(problems_of, shards, paths, local)
    problems = [problem for each in of_shards for problem in each]
    return [*problems, *_sum_problems(info), *description_problems(info)]


def _sum_problems(info: DatasetInfo) -> Iterator[str]:
    for split, entries in info.splits.items():
        for count in ("num_records", "num_bytes"):
            stated = info.metadata["splits"][split][count]
            if stated != (total := sum(getattr(shard, count) for shard in entries)):
                yield f"metadata.json: split {split} states {stated} {count}, its shards {total}"
