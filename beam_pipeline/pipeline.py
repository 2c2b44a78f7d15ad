"""The whole pipeline, and the two ways to run it: `build` and `plan`."""

import dataclasses
import os
import pickle
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias, Unpack

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline import errors
from beam_pipeline.assign.assign_shards import Assigned, AssignShards
from beam_pipeline.assign.dataset_plan import Plan, Preview
from beam_pipeline.assign.packing import Packer
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.build_arguments import BuildArguments
from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.opening import Dataset, is_dataset
from beam_pipeline.dataset.opening import open as open_dataset
from beam_pipeline.describe import tfds
from beam_pipeline.files import storage
from beam_pipeline.files.kept import keeping
from beam_pipeline.inspect.inspect_media import InspectedInput, InspectMedia
from beam_pipeline.records import Element
from beam_pipeline.running.batches import BatchElements
from beam_pipeline.running.failures import explained
from beam_pipeline.running.gathering import Balance, yields_buckets
from beam_pipeline.running.job import job_pipeline, watched
from beam_pipeline.running.locked_folders import temporary_folder
from beam_pipeline.running.memory import collecting_rarely
from beam_pipeline.running.pickling import Constant
from beam_pipeline.running.remote.launch import Launch, cluster_of, job_name
from beam_pipeline.running.runner import PLAIN_JOB, Job, choose_runner, is_local
from beam_pipeline.running.store_settings import use_options
from beam_pipeline.sources.inputs import complete, find_input, naming_other_layouts, source_of
from beam_pipeline.write.claim import exclusive, is_committed, ways_out
from beam_pipeline.write.commit import Commit
from beam_pipeline.write.directories import (
    check_apart,
    check_is_folder,
    dataset_mark,
    delete_working_dirs,
    job_dir,
    restore_dataset,
    scratch_dir,
    spill_folder,
)
from beam_pipeline.write.receipts import drop_unfinished
from beam_pipeline.write.write_shards import WriteShards
from tfrecord_dataset.errors import did_you_mean
from tfrecord_dataset.options import takes_options

Elements: TypeAlias = "beam.PCollection[Element] | tuple[beam.PCollection[Element], ...]"
"""What a source yields; in a tuple, all but the first are PCollections of Rejected."""


@dataclasses.dataclass
class CheckElements(beam.PTransform):
    """Check the elements of a source; yields (InspectedInput, PCollection[int] with counts).

    `share` distributes packed elements among the workers; the few rejects are not distributed.
    """

    config: BuildConfig
    job: Job
    share: beam.PTransform | None = None

    @no_annotations  # Beam allows only PCollections in hints
    def expand(
        self, elements: beam.PCollection[Element]
    ) -> tuple[InspectedInput, beam.PCollection[int]]:
        batch = beam.ParDo(BatchElements(self.job)).with_outputs(BatchElements.COUNT, main="packed")
        packed, counts = elements | "Batch" >> batch  # bytes, int
        if self.share:
            packed = packed | "Balance" >> self.share  # bytes
        inspected = packed | "Inspect" >> InspectMedia(
            self.config.rules, Packer(self.config).pack, self.config.threads, self.job
        )  # InspectedInput
        return inspected, counts


@dataclasses.dataclass
class PlanDataset(beam.PTransform):
    """Check the elements of a source, and assign them to splits and shards.

    Yields (Assigned, PCollections of int whose sum is the number of records and rejects read). With
    `is_balanced`, the elements are already distributed among the workers.
    """

    config: BuildConfig
    job: Job = PLAIN_JOB
    is_balanced: bool = False

    @no_annotations  # Beam allows only PCollections in hints
    def expand(self, elements: Elements) -> tuple[Assigned, tuple[beam.PCollection[int], ...]]:
        tfds.check_keys(self.config.schema)
        records, *unread = elements if isinstance(elements, tuple) else (elements,)
        balance = None if self.is_balanced else Balance()
        inspected, counts = records | "Check" >> CheckElements(self.config, self.job, balance)
        # Every part is a separate side input, as flattening would add a stage per part.
        checked = [
            rejects | "CheckUnread" >> CheckElements(self.config, self.job) for rejects in unread
        ]
        every = inspected._replace(
            rejected=sum((each.rejected for each, _ in checked), inspected.rejected),
            statistics=sum((each.statistics for each, _ in checked), inspected.statistics),
        )
        assigned = every | "Assign" >> AssignShards(self.config, counts, self.job)  # Assigned
        return assigned, (counts, *(others for _, others in checked))


@dataclasses.dataclass
class WriteDataset(beam.PTransform):
    """Write the elements of a source (`Record | Rejected | DeclaredClasses`) as a dataset.

    Yields the dataset's directory once it is committed.

        >>> import apache_beam as beam
        >>> from beam_pipeline import BuildConfig, Record, WriteDataset
        >>> config = BuildConfig(output="written", name="squares")
        >>> records = [Record(key=str(n), features={"n": n, "square": n * n}) for n in range(9)]
        >>> with beam.Pipeline() as pipeline:
        ...     _ = pipeline | beam.Create(records) | WriteDataset(config)
        >>> beam_pipeline.open("written")
        <Dataset /.../written/squares/1.0.0: 9 in train>

    Raises DatasetExistsError at construction. If the pipeline raises DataError,
    CountMismatchError or SourceChangedError, nothing is committed.

    Attributes:
        is_balanced: As in `PlanDataset`.
    """

    config: BuildConfig
    job: Job = PLAIN_JOB
    is_balanced: bool = False

    @no_annotations  # Beam allows only PCollections in hints
    def expand(self, elements: Elements) -> beam.PCollection[str]:
        check_output(self.config)
        planned = PlanDataset(self.config, self.job, self.is_balanced)
        assigned, counts = elements | "Plan" >> planned
        return (
            assigned.placed  # ("<split>/<shard>", table of records)
            | "Write" >> WriteShards(self.config, assigned.plan, self.job)  # ShardInfo
            | "Commit" >> Commit(self.config, assigned, counts, self.job)  # str
        )


@takes_options(BuildConfig)
def build(
    config: BuildConfig | None = None,
    options: PipelineOptions | None = None,
    source: beam.PTransform | None = None,
    **settings: Unpack[BuildArguments],
) -> Dataset:
    """Build the dataset that `config` describes, and return it once it is committed.

        >>> from beam_pipeline import BuildConfig
        >>> beam_pipeline.build(BuildConfig(input="cells", output="built", name="blood"))
        <Dataset /.../built/blood/1.0.0: 30 in train>
        >>> beam_pipeline.build(input="cells", output="built", name="few", num_shards=2)
        <Dataset /.../built/few/1.0.0: 30 in train>

    Args:
        config: Input, output and options.
        options: Beam's options; the default runs in this process.
        source: Yields the records; default: the layout detected at `config.input`.
        **settings: Options of `BuildConfig`, instead of `config` or to override it.

    Raises:
        ConfigError: An option cannot be used, or the dataset already exists.
        DataError: More data is bad than allowed; rejects.jsonl lists the records.
        BeamTFRecordsError: The job failed; finished shards are kept for the next try.
    """
    config, options = checked_arguments(config, options, source, settings)
    check_before_reading(config, options)
    config, source = _with_source(config, source)
    runner = choose_runner(options)
    if is_committed(config):  # its build was killed during cleanup
        delete_working_dirs(config)
        draw_page(config)
        return open_dataset(config.dataset_dir)
    if runner is None:
        with naming_other_layouts(config):
            _build_elsewhere(config, options, source)
        draw_page(config)
        return open_dataset(config.dataset_dir)
    check_output(config)
    with (
        naming_other_layouts(config),
        exclusive(config) as claim,
        collecting_rarely(),
        watched(options, spill_folder(config)) as job,
    ):
        restore_dataset(config)
        try:
            with (
                keeping(spill_folder(config) or job.progress_dir) as kept,
                explained(),
                job_pipeline(runner, options, job) as pipeline,
            ):
                write = WriteDataset(config, dataclasses.replace(job, claim=claim, kept=kept))
                pipeline | "Read" >> source | "WriteDataset" >> write
        except Exception:
            drop_unfinished(config, claim)
            raise
        draw_page(config)
    return open_dataset(config.dataset_dir)


def checked_arguments(
    config: Any, options: Any, source: Any, settings: Mapping[str, Any]
) -> tuple[BuildConfig, PipelineOptions]:
    """Return config and options from a build's arguments; `settings` override `config`."""
    names = [field.name for field in dataclasses.fields(BuildConfig)]
    for name in settings.keys() - {*names}:
        raise errors.ConfigError(f"unknown option {name}{did_you_mean(name, names)}")
    if config is None and settings:
        config, settings = BuildConfig(**settings), {}
    for name, value, kind, example in (
        ("config", config, BuildConfig, "BuildConfig(input='photos', output='data')"),
        ("options", options, PipelineOptions, "PipelineOptions(['--runner=FlinkRunner'])"),
        ("source", source, beam.PTransform, "an object of your class, as docs/dev/own-source.md"),
    ):
        if not isinstance(value, kind) and (value is not None or kind is BuildConfig):
            raise errors.ConfigError(
                f"{name}={value!r:.80} is not a {kind.__name__}; give {example}"
            )
    options = options or PipelineOptions([])
    use_options(options)
    return (dataclasses.replace(config, **settings) if settings else config), options


def draw_page(config: BuildConfig) -> None:
    if not config.no_report:
        from beam_pipeline.report.page import write_page_of_build  # 0.2 s

        write_page_of_build(storage.absolute(config.dataset_dir))


def _with_source(
    config: BuildConfig, source: beam.PTransform | None, scratch: str = ""
) -> tuple[BuildConfig, beam.PTransform]:
    """Return the completed config and the source, by default that of the detected layout."""
    check_apart(config)
    if source is not None:
        return config, source
    scratch = scratch or scratch_dir(config)
    detected = find_input(config, scratch)
    config = complete(config, detected)
    return config, source_of(config, detected, scratch)


def _build_elsewhere(
    config: BuildConfig, options: PipelineOptions, source: beam.PTransform
) -> None:
    """Build on another runner."""
    cluster = cluster_of(options)
    cluster.prepare(config.output, config.inputs)
    name = job_name(options, config.name, config.dataset_dir)
    launch = Launch(cluster, job_dir(config), name, lambda: dataset_mark(config))
    launch.check_is_first()
    if is_dataset(config.dataset_dir):
        launch.delete_folder()  # of a job that outlived its launcher
    check_output(config)
    with exclusive(config) as claim, collecting_rarely():
        restore_dataset(config)
        job = dataclasses.replace(launch.job, claim=claim)
        write = WriteDataset(config, job, yields_buckets(source))
        try:
            launch.run(
                options, lambda pipeline: pipeline | "Read" >> source | "WriteDataset" >> write
            )
        except (Exception, KeyboardInterrupt):
            if launch.has_ended:  # otherwise its workers continue
                drop_unfinished(config, claim)
            raise


@takes_options(BuildConfig)
def plan(
    config: BuildConfig | None = None,
    options: PipelineOptions | None = None,
    source: beam.PTransform | None = None,
    **settings: Unpack[BuildArguments],
) -> Preview:
    """Preview `build` with the same arguments: read and check everything, write nothing.

        >>> config = beam_pipeline.BuildConfig(input="cells", split={"train": 0.8, "test": 0.2})
        >>> preview = beam_pipeline.plan(config)
        >>> preview
        <Preview: 6 in test, 24 in train; image, label>
        >>> preview.statistics.num_records
        30

    Raises:
        ConfigError: An option cannot be used, or names another runner.
    """
    config, options = checked_arguments(config, options, source, settings)
    if not is_local(options):
        raise errors.ConfigError("plan runs in this process; leave out --runner")
    with temporary_folder() as folder, collecting_rarely(), watched(options) as job:
        result = Path(folder, "plan")
        config, source = _with_source(config, source, f"{folder}/unpacked")
        with explained(), job_pipeline(choose_runner(options), options, job) as pipeline:
            assigned, _ = pipeline | "Read" >> source | "Plan" >> PlanDataset(config, job)
            assigned.plan | "Save" >> beam.Map(
                _save, statistics=beam.pvalue.AsSingleton(assigned.statistics), path=str(result)
            )
        preview: Preview = pickle.loads(result.read_bytes())
    return preview


def _save(plan: Constant[Plan], statistics: Constant[Statistics], path: str) -> None:
    Path(path).write_bytes(pickle.dumps(Preview(plan.value, statistics.value)))


def check_before_reading(config: BuildConfig, options: PipelineOptions) -> None:
    """Call `check_output` unless the build may continue another on a store or cluster."""
    if not config.output or (is_local(options) and not storage.is_remote(config.output)):
        check_output(config)


def check_output(config: BuildConfig) -> None:
    """Raise ConfigError if there is no output, DatasetExistsError if it holds a dataset."""
    if not config.output:
        raise errors.ConfigError("an output directory is needed: pass --output DATA_DIR")
    check_apart(config)
    check_is_folder(config.dataset_dir)
    is_remote = storage.is_remote(config.dataset_dir)
    if not is_remote and (
        os.path.islink(config.dataset_dir) or os.path.ismount(config.dataset_dir)
    ):
        raise errors.ConfigError(
            f"{config.dataset_dir} is a link or another disk, and a finished dataset replaces the "
            "directory; set --output to a path there instead"
        )
    if is_remote and config.overwrite:
        raise errors.ConfigError(
            f"--overwrite is for local folders, and no dataset on a store is changed: "
            f"{config.dataset_dir}; build another --version"
        )
    if is_dataset(config.dataset_dir) and not config.overwrite:
        command = f"beam-tfrecords report {shlex.quote(config.dataset_dir)}"
        has_page = config.no_report or storage.exists(
            storage.join(config.dataset_dir, "report.html")
        )
        page = "" if has_page else f", but no report.html: run `{command}`, or"
        raise errors.DatasetExistsError(
            f"{config.dataset_dir} holds a finished dataset{page or ';'} {ways_out(config)}"
        )
