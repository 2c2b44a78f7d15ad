"""Salvage: what is whole of damaged TFRecord files is written anew, with a list of what is gone."""

import dataclasses
import functools
import json
import re
from collections import Counter
from collections.abc import Sequence

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.dataset.opening import open as open_dataset
from beam_pipeline.dataset.salvaged_file import DamagedFile, Loss, salvage_file
from beam_pipeline.errors import ConfigError, DatasetDamagedError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.running.job import watched
from beam_pipeline.running.parallel import map_shards
from beam_pipeline.running.temporary import temporary_folder
from beam_pipeline.sources.input_files import find_files
from beam_pipeline.sources.tfrecord.files import is_named_so, kind_of_file
from tfrecord_dataset.shown_text import one_line

LOSSES_FILE = "salvage.jsonl"
_NUMBERED = re.compile(r"-\d{5,}-of-\d{5,}(\.gz(ip)?)?$")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """What was saved.

    Attributes:
        path: Where it lies.
        num_files: Files that were looked at.
        num_records: Records that were written.
        losses: What is gone, as salvage.jsonl lists it.
    """

    path: str
    num_files: int
    num_records: int
    losses: Sequence[Loss]


def salvage(inputs: str | Sequence[str], output: str) -> Salvage:
    """Writes the whole records of TFRecord files, plain or gzip, into files of the same names.

    A record is whole if both its checksums are right and it is a tf.train.Example. Behind damage
    the next whole record is looked for. What is gone is listed in `output`, in salvage.jsonl.

        >>> saved = beam_pipeline.salvage("data/cells", "saved")
        >>> saved.num_records, saved.losses
        (30, [])

    Args:
        inputs: Datasets' directories, files, folders or patterns of files.
        output: The folder where the new files go; none of them may be there.

    Raises:
        ConfigError: There is no such file, or one in `output` that would be written.
    """
    output = storage.absolute(output)
    listed = [inputs] if isinstance(inputs, str) else inputs
    found = [each for path in listed for each in _find(storage.absolute(path))]
    names = Counter(each.file for each in found)
    if twice := sorted(name for name, count in names.items() if count > 1):
        raise ConfigError(
            f"{len(twice)} names of files are there twice, such as {twice[0]}; salvage one input "
            "at a time, each into a folder of its own"
        )
    for name in (LOSSES_FILE, *names):
        if storage.exists(storage.join(output, name)):
            raise ConfigError(f"{output} has a {name} already; give a new folder")
    with watched(PipelineOptions([])) as local, temporary_folder() as folder:
        salvage_one = functools.partial(
            salvage_file, output=output, progress_dir=local.progress_dir, scratch=folder
        )
        results = map_shards(salvage_one, found, [file.path for file in found], local.processes)
    losses = [loss for _, lost in results for loss in lost]
    lines = (one_line(json.dumps(dataclasses.asdict(loss), ensure_ascii=False)) for loss in losses)
    text = "".join(f"{line}\n" for line in lines)
    data = text.encode(errors="replace")
    storage.write_bytes(storage.join(output, LOSSES_FILE), data, durable=True)
    return Salvage(
        path=output,
        num_files=len(found),
        num_records=sum(num_records for num_records, _ in results),
        losses=losses,
    )


def _find(path: str) -> list[DamagedFile]:
    """The files of an input.

    Raises:
        ConfigError: There are none.
    """
    if storage.is_directory(path):
        try:
            return _shards(path)
        except (ConfigError, DatasetDamagedError):  # what is there is taken, whatever is stated
            pass
    is_one = storage.exists(path) and not storage.is_directory(path)
    files = [file for file in find_files(path, bool)[0] if is_one or _is_meant(file.path)]
    if not files:
        raise ConfigError(f"{path} holds no TFRecord file; give a folder, file or pattern of some")
    return [DamagedFile(path=each.path, file=each.relative, num_records=None) for each in files]


def _shards(path: str) -> list[DamagedFile]:
    info = open_dataset(path)
    return [
        DamagedFile(
            path=storage.join(info.path, shard.file),
            file=shard.file,
            num_records=shard.num_records,
        )
        for shards in info.splits.values()
        for shard in shards
    ]


def _is_meant(path: str) -> bool:
    """Whether a file is one of TFRecords, or was, by its name."""
    if is_named_so(path) or _NUMBERED.search(path):
        return True
    try:
        return kind_of_file(path) is not None
    except RecordError:  # it cannot be read, and is not called like one
        return False
