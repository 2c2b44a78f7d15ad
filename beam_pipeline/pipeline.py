"""The whole pipeline, and the two ways to run it: `build` and `plan`."""

import contextlib
import dataclasses
import fcntl
import gc
import os
import pickle
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline import errors, progress, storage
from beam_pipeline.assign import Assigned, AssignShards
from beam_pipeline.batches import BatchSource
from beam_pipeline.census import Plan
from beam_pipeline.commit import Commit
from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset import DatasetInfo, is_dataset, open_dataset
from beam_pipeline.inspection import InspectMedia
from beam_pipeline.records import Element
from beam_pipeline.runner import choose_runner, is_local
from beam_pipeline.sources import find_layout, source_of
from beam_pipeline.write import WriteShards, working_dir


@dataclasses.dataclass
class PlanDataset(beam.PTransform):
    """Elements of a source, checked and assigned to splits and shards; nothing is written.

    Yields (Assigned, PCollection[int] with the number of records and rejects read).
    """

    config: BuildConfig
    progress_dir: str = ""

    @no_annotations  # Beam takes hints of PCollections alone
    def expand(self, elements: beam.PCollection[Element]) -> tuple[Assigned, beam.PCollection[int]]:
        batches = elements | "Batch" >> beam.ParDo(BatchSource(self.progress_dir)).with_outputs(
            BatchSource.COUNT, main="batches"
        )
        num_read = batches[BatchSource.COUNT] | "CountRead" >> beam.CombineGlobally(sum)  # int
        assigned = (
            batches["batches"]  # bytes: a packed batch of Record | Rejected | DeclaredClasses
            | "Balance" >> beam.Reshuffle()  # the same, spread over the workers
            | "Inspect"
            >> InspectMedia(
                self.config.image, self.config.box_policy, self.config.threads, self.progress_dir
            )  # the same, records inspected
            | "Assign" >> AssignShards(self.config)  # Assigned
        )
        return assigned, num_read


@dataclasses.dataclass
class WriteDataset(beam.PTransform):
    """Elements of a source (`Record | Rejected | DeclaredClasses`) to a data set on disk.

    Yields the data set's directory, once it is committed.

    Raises (at construction) DatasetExistsError, and while the pipeline runs DataError,
    CountMismatchError, SourceChangedError; then nothing is committed.
    """

    config: BuildConfig
    progress_dir: str = ""

    def expand(self, elements: beam.PCollection[Element]) -> beam.PCollection[str]:
        check_output(self.config)
        assigned, num_read = elements | "Plan" >> PlanDataset(self.config, self.progress_dir)
        return (
            assigned.placed  # ("<split>/<shard>", packed batch of Record)
            | "Write" >> WriteShards(self.config, assigned.plan, self.progress_dir)  # ShardInfo
            | "Commit" >> Commit(self.config, assigned.plan, assigned.rejected, num_read)  # str
        )


def build(
    config: BuildConfig,
    options: PipelineOptions | None = None,
    source: beam.PTransform | None = None,
) -> DatasetInfo:
    """Builds the data set that `config` describes, and returns it once it is committed.

    Args:
        config: What to build, from what, to where.
        options: Beam's options; the default runs in this process.
        source: Yields the records; default: the layout found at `config.input`.

    Raises:
        ConfigError: An option cannot be used, or the data set is there already.
        DataError: More of the data is bad than allowed; rejects.jsonl names it.
        BeamTFRecordsError: The job failed; finished shards are kept for the next try.
    """
    source = source or source_of(config, find_layout(config))
    check_output(config)
    options = options or PipelineOptions([])
    with _exclusive(config), _collecting_rarely(), _watched(options) as progress_dir:
        try:
            with _pipeline(options) as pipeline:
                pipeline | "Read" >> source | "WriteDataset" >> WriteDataset(config, progress_dir)
        except Exception as error:
            _drop_unfinished(config)
            raise explain(error) from error
    return open_dataset(config.dataset_dir)


def plan(
    config: BuildConfig,
    options: PipelineOptions | None = None,
    source: beam.PTransform | None = None,
) -> Plan:
    """What `build` would do with the same arguments; all is read and checked, nothing written."""
    source = source or source_of(config, find_layout(config))
    options = options or PipelineOptions([])
    if not is_local(options):
        raise errors.ConfigError("plan runs in this process; leave --runner out")
    with (
        tempfile.TemporaryDirectory(prefix="beam-tfrecords-plan-") as folder,
        _collecting_rarely(),
        _watched(options) as progress_dir,
    ):
        result = Path(folder, "plan")
        try:
            with _pipeline(options) as pipeline:
                planned = pipeline | "Read" >> source | "Plan" >> PlanDataset(config, progress_dir)
                planned[0].plan | "Save" >> beam.Map(_save, str(result))
        except Exception as error:
            raise explain(error) from error
        made: Plan = pickle.loads(result.read_bytes())
    return made


@contextlib.contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Keeps the garbage collector from going through every waiting record again and again.

    References hold no cycles; 50,000 small pictures take 17.3 CPU seconds so, else 19.5.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _save(value: object, path: str) -> None:
    Path(path).write_bytes(pickle.dumps(value))


def check_output(config: BuildConfig) -> None:
    """Raises ConfigError where there is no output, DatasetExistsError where it is taken."""
    if not config.output:
        raise errors.ConfigError("an output directory is needed: pass --output DATA_DIR")
    if is_dataset(config.dataset_dir) and not config.overwrite:
        raise errors.DatasetExistsError(
            f"{config.dataset_dir} holds a finished dataset; pass --overwrite to replace it, or "
            "another --name, --version or --output"
        )


def _pipeline(options: PipelineOptions) -> beam.Pipeline:
    return beam.Pipeline(runner=choose_runner(options), options=options)


@contextlib.contextmanager
def _watched(options: PipelineOptions) -> Iterator[str]:
    """Shows the progress of a local job; yields the folder where its stages leave their counts."""
    if not is_local(options):
        yield ""
        return
    with (
        tempfile.TemporaryDirectory(prefix="beam-tfrecords-progress-") as folder,
        progress.shown(folder),
    ):
        yield folder


@contextlib.contextmanager
def _exclusive(config: BuildConfig) -> Iterator[None]:
    """Holds the output against another build on this machine, for as long as this one runs.

    The lock is on the directory itself and goes with the process, however it ends; remote
    outputs have none.
    """
    if storage.is_remote(config.output):
        yield
        return
    storage.make_dirs(config.dataset_dir)
    directory = os.open(config.dataset_dir, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise errors.ConfigError(
            f"another build is writing {config.dataset_dir}; wait for it, or choose another "
            "--name, --version or --output"
        ) from error
    finally:
        os.close(directory)


def _drop_unfinished(config: BuildConfig) -> None:
    """Deletes what a failed build leaves, but for finished shards, which the next one takes."""
    folder = working_dir(config)
    if storage.list_dir(storage.join(folder, "receipts")):
        return
    storage.delete([folder])
    if not storage.is_remote(folder):
        with contextlib.suppress(OSError):  # not empty: it holds something else
            os.removedirs(config.dataset_dir)


# Runners hand on a worker's error as text: the last line of its traceback.
_OUR_ERROR = re.compile(
    r"beam_pipeline\.errors\.(?P<name>\w+): (?P<message>.*?)"
    r"(?: \[while running .*?\])?(?:\\n|\n|$)"
)


def explain(error: Exception) -> Exception:
    """The project's own error that `error` carries, as itself or as text; else `error`."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, errors.BeamTFRecordsError):
            return cause
        cause = cause.__cause__
    if found := _OUR_ERROR.search(str(error)):
        kind = getattr(errors, found["name"])
        if kind is errors.RecordError:
            return errors.BeamTFRecordsError(found["message"])
        return kind(found["message"])  # type: ignore[no-any-return]
    return error
