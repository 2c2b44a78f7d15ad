"""Predictions of a trained model for files, folders and datasets."""

import contextlib
import csv
import dataclasses
import io
import itertools
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TextIO

from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.feature import STRINGS, Feature
from tfrecord_dataset.format.frames import framed
from tfrecord_dataset.inner_paths import name_part
from tfrecord_dataset.records.opening import is_dataset
from tfrecord_dataset.shown_text import counted, listed, plain_json, plain_number
from tfrecord_dataset.store.urls import is_remote
from trainer.dataset import Dataset
from trainer.dataset.opening import open_data
from trainer.errors import ConfigError, DatasetDamagedError, UnknownNameError
from trainer.input_pipeline.tensorflow_errors import readable_errors
from trainer.options.command_options import BEST, PredictConfig
from trainer.progress import Progress
from trainer.raw_rows import AS_BY_DEFAULT, DELIMITED, SUFFIXES, RowOptions, is_rows
from trainer.runs import choices
from trainer.runs.trained import Run, open_run
from trainer.tasks import Task
from trainer.tasks.reading import prediction_batches
from trainer.tasks.targets import Row, Target
from trainer.tasks.task_json import check_same_inputs

# Records per temporary file, when predicting for files.
_CHUNK = 4096
_LEAST_SCORE = 0.3
# Optional features of images, if records have their keys.
_ENCODED, _FILENAME = "encoded image", "file name"


class ToPredict(NamedTuple):
    """One record to predict for."""

    source: str  # path, or `rows.csv:3`, as in the predictions
    example: bytes  # a serialized tf.train.Example
    # Columns of a .csv or .jsonl file; for another file `stem`, its name without the suffix.
    row: Mapping[str, Any] = MappingProxyType({})


class Bad(NamedTuple):
    """A file or row that cannot be predicted for."""

    source: str
    error: str


class _Record(NamedTuple):
    source: str  # its file, row, or position in a split
    image: bytes | None  # encoded, for targets that need it
    predictions: dict[str, Any]  # NumPy arrays by name
    columns: dict[str, Any]  # the record's columns among --columns


def predict(config: PredictConfig) -> dict[str, int]:
    """Write a row for each record; return `num_records`, unless the rows are on stdout.

    Raises:
        DatasetDamagedError: All files and rows are bad, or more than `max_bad_fraction` allows.
        TrainerError: See the tree in errors.py.
    """
    progress = Progress(quiet=config.quiet)
    run = open_run(config.run_path, which=config.which, model_fn=config.model_fn)
    goal = run.learned.goal
    _check_options(config, run.learned)
    opened = _opened(config, run)
    shown = _least_score(config, run, progress)
    is_document = config.min_score is None and config.format in goal.documents
    count = 0
    bad: list[Bad] = []

    def rows() -> Iterator[Row | Bad]:
        nonlocal count
        for count, record in enumerate(_records(config, run, opened), start=1):
            if isinstance(record, Bad):
                bad.append(record)
                yield record
                continue
            row = _row(goal, record, count, 0.0 if is_document else shown)
            name = f"{name_part(f'{count:06d}-{Path(record.source).stem}')}.png"
            if config.images is not None:
                assert record.image is not None
                from PIL import Image  # most predictions need no Pillow

                drawn = goal.row(record.predictions, record.image, shown)
                with Image.open(io.BytesIO(record.image)) as image:
                    pixels = image.convert("RGB")
                _save(goal.draw(drawn, record.predictions, pixels), Path(config.images, name))
            if config.maps is not None:
                _save(goal.map_of(row, record.predictions), Path(config.maps, name))
                row["map"] = name
            yield row

    made = rows()
    first = [*itertools.islice(made, 1)]  # an invalid option leaves no empty file
    with contextlib.ExitStack() as closed:
        file = sys.stdout
        if config.output is not None:
            file = closed.enter_context(Path(config.output).open("w", encoding="utf-8"))
        _write_rows(config, goal, itertools.chain(first, made), file)
    if not count:
        progress.warn(f"no records in {listed(config.inputs)}: nothing is predicted")
    progress.say(f"predicted {counted(count - len(bad), 'record')} with {run.file}")
    if bad:
        _say_bad(bad, count, config, progress)
    return {} if config.output is None else {"num_records": count - len(bad), "num_bad": len(bad)}


def _say_bad(bad: Sequence[Bad], count: int, config: PredictConfig, progress: Progress) -> None:
    """Say how many files and rows are bad; raise DatasetDamagedError if they are too many."""
    what = f"{len(bad)} of {counted(count, 'record')} cannot be read; first: {bad[0].error}"
    if len(bad) == count or len(bad) > config.max_bad_fraction * count:
        raise DatasetDamagedError(f"{what} (--max-bad-fraction {config.max_bad_fraction:g})")
    progress.say(what)


def predicted_rows(
    run: Run, config: PredictConfig, given: Dataset | Iterable[Mapping[str, Any]] | None
) -> Iterator[Row]:
    """Yield the rows that `predict` writes as JSON lines.

    A dataset or rows may be `given` in place of `config.inputs`.
    """
    opened, items = None, None
    if isinstance(given, Dataset):
        check_same_inputs(run.learned, given.features, run.config.options)
        opened = choices.of_run(given, run.config, config.split)
    elif given is not None:
        features = run.features_to_predict()
        rows = enumerate(given, start=1)
        items = items_of_rows(rows, "row ", Path(), run.learned, features, run.row_options)
    else:
        opened = _opened(config, run)
    goal, shown = run.learned.goal, _least_score(config, run, Progress(quiet=True))
    for number, record in enumerate(_records(config, run, opened, items), start=1):
        if isinstance(record, Bad):
            yield record._asdict()
        else:
            yield _row(goal, record, number, shown)


def _row(goal: Target, record: _Record, number: int, least: float) -> Row:
    row: Row = {"source": record.source, **record.columns}
    if goal.needs_image:
        row["image_id"] = number
    return row | goal.row(record.predictions, record.image, least)


def _save(image: Any, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    image.save(file, "PNG")


def _check_options(config: PredictConfig, task: Task) -> None:
    """Raise ConfigError for an option that does not apply to the task or the inputs."""
    unsuitable = {
        "--threshold": config.threshold is not None and task.goal.threshold is None,
        "--min-score": config.min_score is not None and task.goal.least_score is None,
        "--images": config.images is not None and not task.goal.needs_image,
        "--maps": config.maps is not None and not task.goal.makes_maps,
        f"--format {config.format}": config.format not in ("jsonl", "csv", *task.goal.documents),
    }
    for option, is_wrong in unsuitable.items():
        if is_wrong:
            classes = f" of {counted(len(task.classes), 'class')}" if task.classes else ""
            raise ConfigError(
                f"{option} does not suit the model's task, {task.name}{classes}; leave it out"
            )
    if config.output is not None and _same_file(config.output, config.inputs):
        raise ConfigError(f"--output {config.output} is an input, too; name another file")
    if config.columns and config.format != "csv":
        raise ConfigError("--columns is for --format csv; leave it out")


def _same_file(output: str, inputs: Sequence[str]) -> bool:
    return os.path.realpath(output) in map(os.path.realpath, inputs)


def _least_score(config: PredictConfig, run: Run, progress: Progress) -> float:
    """Return the score of boxes, or the probability of a class, from which it is predicted.

    It is 0 where the model decides.

    Raises:
        ConfigError: There is no best threshold.
    """
    if config.threshold is not None:
        return _threshold(config.threshold, run, progress)
    metric = run.learned.goal.least_score
    if metric is None or config.min_score is not None:
        return config.min_score or 0.0
    least_score = run.metrics.get(f"val_{metric}", math.nan)
    why = "with the best F1 of the validation split"
    if not math.isfinite(least_score):
        least_score, why = _LEAST_SCORE, "since no validation has chosen a score"
    progress.say(f"boxes of a score of {least_score:.2f} and more are shown, {why} (--min-score)")
    return least_score


def _threshold(stated: str, run: Run, progress: Progress) -> float:
    if stated != BEST:
        return float(stated)
    best = run.metrics.get(f"val_{run.learned.goal.threshold}", math.nan)
    if not math.isfinite(best):
        raise ConfigError(
            f"--threshold {BEST}: the training of {run.path} has no validation with both classes; "
            "give a number, such as --threshold 0.5"
        )
    progress.say(f"{run.classes[1]} is predicted from a probability of {best:.2f} (--threshold)")
    return best


def _opened(config: PredictConfig, run: Run) -> tuple[Dataset, str] | None:
    """Open the dataset to predict for, with its split; None for files."""
    if len(config.inputs) > 1 or not is_dataset(config.inputs[0]):
        if config.split is not None:
            raise ConfigError("--split is for datasets; leave it out for files and folders")
        return None
    dataset = open_data(
        config.inputs[0],
        None,
        run.features_to_predict(),
        config.cache_dir,
        config.cache_bytes,
        allow_missing_shards=config.allow_missing_shards,
    )
    check_same_inputs(run.learned, dataset.features, run.config.options)
    return choices.of_run(dataset, run.config, config.split)


def _records(
    config: PredictConfig,
    run: Run,
    opened: tuple[Dataset, str] | None,
    items: Iterable[ToPredict | Bad] | None = None,
) -> Iterator[_Record | Bad]:
    predictor = _Predictor(run=run, batch_size=config.batch_size, columns=_own_columns(config, run))
    if opened is not None:
        yield from predictor.of_dataset(*opened)
        return
    features = run.features_to_predict()
    items = iter(items or read_items(config.inputs, run.learned, features, run.row_options))
    while chunk := [*itertools.islice(items, _CHUNK)]:
        records = predictor.of_items([each for each in chunk if isinstance(each, ToPredict)])
        for each in chunk:
            yield each if isinstance(each, Bad) else next(records)


def _own_columns(config: PredictConfig, run: Run) -> Sequence[str]:
    """Return the columns among --columns that are the records' own."""
    goal = run.learned.goal
    predicted = _predicted(goal)
    return [source for _, source in _columns(config, goal) if source not in predicted]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Predictor:
    """Predicts by a run for datasets and items.

    Attributes:
        run: The run.
        batch_size: Records per step.
        columns: Columns of records to return.
    """

    run: Run
    batch_size: int
    columns: Sequence[str]

    def of_dataset(self, dataset: Dataset, split: str) -> Iterator[_Record]:
        """Yield the records of a split, named by their files or positions."""
        self._check_columns(dataset.features)
        for number, record in enumerate(self._read(dataset, split, self.columns)):
            yield record if record.source else record._replace(source=f"{split}:{number}")

    def of_items(self, items: Sequence[ToPredict]) -> Iterator[_Record | Bad]:
        """Yield a record for each item, or what is wrong with it.

        A file that cannot be decoded ends its batch, whose items are read again in halves.
        """
        for item in items:
            self._check_columns(item.row)
        parts = [items] if items else []
        while parts:
            part, done = parts.pop(), 0
            try:
                for item, record in zip(part, self._of_part(part), strict=True):
                    own = {name: item.row[name] for name in self.columns}
                    yield record._replace(source=item.source, columns=own)
                    done += 1
            except DatasetDamagedError as error:
                left = part[done:]
                if len(left) == 1:
                    yield Bad(left[0].source, f"{left[0].source}: {error}")
                    continue
                half = min(self.batch_size, -(-len(left) // 2))
                parts += [left[half:], left[:half]]

    def _of_part(self, items: Sequence[ToPredict]) -> Iterator[_Record]:
        with tempfile.TemporaryDirectory() as folder, readable_errors():
            file = Path(folder, "items.tfrecord")
            with file.open("wb") as handle:
                handle.writelines(framed(item.example) for item in items)
            dataset = open_data(os.fspath(file), None, self.run.features_to_predict())
            yield from self._read(dataset, next(iter(dataset.splits)))

    def _check_columns(self, names: Iterable[str]) -> None:
        predicted = _predicted(self.run.learned.goal)
        for name in self.columns:
            if name not in names:
                known = dict.fromkeys([*names, *predicted, f"{name}={[*predicted][-1]}"])
                raise UnknownNameError("column", name, known, "--columns")

    def _read(self, dataset: Dataset, split: str, own: Sequence[str] = ()) -> Iterator[_Record]:
        """Yield the predictions for a split with some of its features."""
        task = self.run.learned
        dataset, others = _with_others(dataset, task)
        others = [*dict.fromkeys([*others, *own])]
        batches = prediction_batches(
            task, dataset, split, batch_size=self.batch_size, others=others
        )
        for inputs, windows, columns in batches:
            made = self.run.step(inputs, windows)
            predictions = {name: value.numpy() for name, value in made.items()}
            by_name = {name: value.numpy() for name, value in columns.items()}
            for place in range(len(next(iter(predictions.values())))):
                yield _Record(
                    source=by_name[_FILENAME][place].decode() if _FILENAME in by_name else "",
                    image=bytes(by_name[_ENCODED][place]) if _ENCODED in by_name else None,
                    predictions={name: value[place] for name, value in predictions.items()},
                    columns={name: _plain(by_name[name][place]) for name in own},
                )


def _with_others(dataset: Dataset, task: Task) -> tuple[Dataset, list[str]]:
    """Add the encoded images and their file names to the dataset, if needed."""
    added: dict[str, Feature] = {}
    first, *more = task.inputs.values()
    if not more and first.group == "image":
        image = dataset.features[first.name]
        stored = Feature(name=_ENCODED, kind="bytes", dtype="bytes", key=image.key)
        file_key = image.subkey("filename")
        added[_FILENAME] = dataclasses.replace(stored, name=_FILENAME, key=file_key, default=b"")
        if task.goal.needs_image:
            added[_ENCODED] = stored
    return dataclasses.replace(dataset, features={**dataset.features, **added}), [*added]


def _plain(value: Any) -> Any:
    """Convert a record's value for CSV."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value.tolist()


def _predicted(goal: Target) -> dict[str, str]:
    """Return the predicted columns of a CSV file, and the target under its name."""
    named = {goal.name: goal.columns[0]} if goal.names_target else {}
    return {"source": "source", **{name: name for name in goal.columns}, **named}


def _columns(config: PredictConfig, goal: Target) -> list[tuple[str, str]]:
    """Return (name, source) of a CSV file's columns; `id=key` writes `key` as "id"."""
    columns = config.columns or ("source", *goal.columns)
    pairs = (column.partition("=") for column in columns)
    return [(name, source or name) for name, _, source in pairs]


def _write_rows(
    config: PredictConfig, goal: Target, rows: Iterable[Row | Bad], file: TextIO
) -> None:
    """Write rows: one line per record as `jsonl`, columns as `csv`, or the task's document."""
    format_name = config.format
    if format_name == "jsonl":
        objects = (row._asdict() if isinstance(row, Bad) else row for row in rows)
        file.writelines(plain_json(json.dumps(each, ensure_ascii=False)) + "\n" for each in objects)
    elif format_name == "csv":
        lines = csv.writer(file, lineterminator="\n")
        names = _predicted(goal)
        columns = _columns(config, goal)
        lines.writerow([name for name, _ in columns])
        for row in rows:
            if isinstance(row, Bad):
                lines.writerow([row._asdict().get(source, "") for _, source in columns])
                continue
            for line in goal.lines(row):
                values = {**row, **dict(zip(goal.columns, line, strict=True))}
                cells = [values[names.get(source, source)] for _, source in columns]
                lines.writerow(plain_number(e) if isinstance(e, float) else e for e in cells)
    else:
        good = (row for row in rows if not isinstance(row, Bad))
        file.write(plain_json(json.dumps(goal.documents[format_name](good))) + "\n")


def read_items(
    paths: Iterable[str],
    task: Task,
    features: Mapping[str, Feature],
    options: RowOptions = AS_BY_DEFAULT,
) -> Iterator[ToPredict | Bad]:
    """Read the records of files and folders in order; folders recursively.

    A model with one such input takes an image, audio file or text as a record. Each row of a .csv
    or .jsonl file is a record with columns named like the inputs; images and audio files in it are
    paths relative to the file.

    Raises:
        ConfigError: A path does not exist, or the model does not support the file.
        DatasetDamagedError: A file cannot be read.
    """
    for path in paths:
        if is_remote(path):
            raise ConfigError(
                f"{path} is not a dataset, and single files on a store are not read; copy them "
                "here, or build a dataset of them"
            )
        place = Path(path)
        if not place.exists():
            raise ConfigError(f"there is no file or folder {path}; check the path")
        if place.is_file():
            yield from _read_file(place, task, features, options)
            continue
        suffixes = _suffixes(task)
        files = sorted(each for each in place.rglob("*") if each.suffix.lower() in suffixes)
        if not files:
            raise ConfigError(
                f"{path} has no file that the model takes ({', '.join(suffixes)}); name another "
                "folder"
            )
        for each in files:
            yield from _read_file(each, task, features, options)


def _suffixes(task: Task) -> tuple[str, ...]:
    """Return the suffixes of files that the model takes."""
    (first, *more) = task.inputs.values()
    return SUFFIXES if more else first.suffixes or SUFFIXES


def _read_file(
    path: Path, task: Task, features: Mapping[str, Feature], options: RowOptions
) -> Iterator[ToPredict | Bad]:
    if is_rows(path):
        objects = [] if path.suffix.lower() in DELIMITED else options.read(path)
        named = {name for _, row in objects if isinstance(row, dict) for name in row}
        gaps = dict.fromkeys(named & task.inputs.keys())
        rows = (
            (line, gaps | row if isinstance(row, dict) else row) for line, row in options.read(path)
        )
        yield from items_of_rows(rows, f"{path}:", path.parent, task, features, options)
        return
    (first, *more) = task.inputs.values()
    if more or path.suffix.lower() not in _suffixes(task):
        raise ConfigError(
            f"{path} does not suit this model, which takes "
            f"{', '.join(each.name for each in (first, *more))}: give "
            f"{' or '.join(_suffixes(task))}; a row of a .csv or .jsonl file has a "
            "column for each input"
        )
    try:
        row = {first.name: first.of_file(path)}
        example = _example(row, str(path), path.parent, task, features, options)
    except DatasetDamagedError as error:
        yield Bad(str(path), str(error))
        return
    yield ToPredict(str(path), example, {"stem": path.stem})


def items_of_rows(
    rows: Iterable[tuple[int, Mapping[str, Any] | DatasetDamagedError]],
    prefix: str,
    folder: Path,
    task: Task,
    features: Mapping[str, Feature],
    options: RowOptions = AS_BY_DEFAULT,
) -> Iterator[ToPredict | Bad]:
    """Make records of numbered rows with a column per input; paths are relative to `folder`.

    A row is bad if it cannot be read, a value is not of the input's type, or a file is damaged. A
    text that is None is empty, as in a build.

    Raises:
        UnknownNameError: A row lacks a column.
    """
    for number, row in rows:
        source = f"{prefix}{number}"
        try:
            if isinstance(row, DatasetDamagedError):
                raise row
            yield ToPredict(source, _example(row, source, folder, task, features, options), row)
        except DatasetDamagedError as error:
            yield Bad(source, str(error))


def _example(
    row: Mapping[str, Any],
    source: str,
    folder: Path,
    task: Task,
    features: Mapping[str, Feature],
    options: RowOptions,
) -> bytes:
    """Serialize the model's inputs in `row` as an Example."""
    values: dict[str, Any] = {}
    for each in task.inputs.values():
        feature = features[each.name]
        if each.name not in row:
            raise UnknownNameError("column, which the model needs,", each.name, row, source)
        is_number = each.is_numeric and not feature.shape and feature.dtype not in STRINGS
        value = options.value(row[each.name], is_number=is_number)
        if value is None and feature.dtype in STRINGS and not feature.shape:
            value = ""
        values[feature.key] = each.stored(value, feature, folder, source)
    return encode(values)
