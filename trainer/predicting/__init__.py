"""What a trained model says of files, folders and datasets."""

import contextlib
import csv
import dataclasses
import io
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.inner_paths import name_part
from tfrecord_dataset.records.opening import is_dataset
from tfrecord_dataset.shown_text import counted
from trainer.dataset import Dataset
from trainer.dataset.opening import open_data
from trainer.errors import ConfigError, DatasetDamagedError, UnknownNameError
from trainer.options.commands import PredictConfig
from trainer.predicting.files import Item, items_of_rows, read_items, write_chunks
from trainer.predicting.report import ClassReport
from trainer.progress import Progress
from trainer.runs import choices
from trainer.runs.run_page import pictured
from trainer.runs.trained import TrainedRun, load_run, validated
from trainer.tasks import Task
from trainer.tasks.reading import prediction_batches
from trainer.tasks.targets import Target
from trainer.tasks.targets.results import Results, Row, results_of
from trainer.tasks.task_json import check_same_inputs

# Records of files that are predicted for at a time; their bytes are copied to a temporary file.
_CHUNK = 4096
_LEAST_SCORE = 0.3
# Features that are read besides the inputs, where records have their keys.
_ENCODED, _FILENAME = "encoded image", "file name"


class _Record(NamedTuple):
    """What is known of one record.

    Attributes:
        source: What it is called.
        image: Its encoded image, for targets that need it.
        true: Its target as stored, for the report.
        predictions: NumPy arrays by name.
        columns: Of the record, those of --columns that are no predictions.
    """

    source: str
    image: bytes | None
    true: Any
    predictions: dict[str, Any]
    columns: dict[str, Any]


def predict(config: PredictConfig) -> dict[str, int]:
    """Writes a row for each record; returns `num_records`, unless the rows are on stdout.

    Raises:
        TrainerError: See the tree in errors.py.
    """
    progress = Progress(quiet=config.quiet)
    run = load_run(config.run_path, config.which, config.model_fn)
    task, results = run.task, results_of(run.task.goal)
    features = run.features_to_predict()
    if config.report:
        features |= run.features_of([task.target])
    opened = _opened(config, run, features)
    report = _create_report(config, task, opened)
    images, maps = _folders(config, task)
    _check_format(config, task)
    shown = _shown_score(config, run, progress)
    is_document = config.min_score is None and config.format in results.documents
    least = 0.0 if is_document else shown
    records = _records(config, run, features, opened)
    count = 0

    def rows() -> Iterator[Row]:
        nonlocal count
        for count, record in enumerate(records, start=1):
            row = _row(results, record, count, least)
            name = f"{name_part(f'{count:06d}-{Path(record.source).stem}')}.png"
            if images is not None:
                assert record.image is not None
                drawn = results.row(record.predictions, record.image, shown)
                pixels = _in_rgb(record.image)
                _save(results.draw(drawn, record.predictions, pixels), images / name)
            if maps is not None:
                _save(results.map_of(row, record.predictions), maps / name)
                row["map"] = name
            if report is not None:
                number = _class_number(task.goal, record.true, record.source)
                report.add(number, record.predictions["probabilities"])
            yield row

    with contextlib.ExitStack() as closed:
        file = sys.stdout
        if config.output is not None:
            file = closed.enter_context(Path(config.output).open("w", encoding="utf-8"))
        _write_rows(config, results, rows(), file)
    if report is not None:
        assert config.report is not None
        assert opened is not None
        mistakes = [*pictured(task, *opened, report.examples())]
        about = f"{run.file} on {config.inputs[0]}"
        page = report.html(f"Predictions of {task.target}", about, opened[1], mistakes)
        Path(config.report).write_text(page, encoding="utf-8")
    progress.say(f"predicted {counted(count, 'record')} with {run.file}")
    return {} if config.output is None else {"num_records": count}


def predicted_rows(
    run: TrainedRun, config: PredictConfig, given: Dataset | Iterable[Mapping[str, Any]] | None
) -> Iterator[Row]:
    """The rows that `predict` writes as JSON lines.

    Args:
        run: The trained model.
        config: The options of the command.
        given: A dataset, or rows, in place of `config.inputs`; None for these.
    """
    features, results = run.features_to_predict(), results_of(run.task.goal)
    opened, items = None, None
    if isinstance(given, Dataset):
        check_same_inputs(run.task, given.features, run.options)
        opened = choices.of_run(given, run.config, config.split)
    elif given is not None:
        items = items_of_rows(given, "row ", Path(), run.task, features)
    else:
        opened = _opened(config, run, features)
    shown = _shown_score(config, run, Progress(quiet=True))
    records = _records(config, run, features, opened, items)
    for number, record in enumerate(records, start=1):
        yield _row(results, record, number, shown)


def _row(results: Results, record: _Record, number: int, least: float) -> Row:
    row: Row = {"source": record.source, **record.columns}
    if results.goal.needs_image:
        row["image_id"] = number
    return row | results.row(record.predictions, record.image, least)


def _in_rgb(encoded: bytes) -> Any:
    from PIL import Image  # here: most predictions need no Pillow

    with Image.open(io.BytesIO(encoded)) as image:
        return image.convert("RGB")


def _save(image: Any, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    image.save(file, "PNG")


def _shown_score(config: PredictConfig, run: TrainedRun, progress: Progress) -> float:
    """The score from which on boxes are written and drawn; any for tasks without scores."""
    metric = run.task.goal.least_score
    if metric is None:
        if config.min_score is not None:
            raise ConfigError(
                f"--min-score leaves out boxes, but the model's task is {run.task.name}, whose "
                "predictions are one a record; leave it out"
            )
        return 0.0
    if config.min_score is not None:
        return config.min_score
    found = validated(config.run_path, config.which, run.options, metric)
    if found is None:
        progress.say(f"the run has no score of its own: boxes of {_LEAST_SCORE} and more are shown")
        return _LEAST_SCORE
    progress.say(
        f"boxes of a score of {found:.2f} and more are shown, with the best F1 of the validation "
        "split (--min-score)"
    )
    return found


def _folders(config: PredictConfig, task: Task) -> tuple[Path | None, Path | None]:
    """Those for images and for maps."""
    if config.images is not None and not task.goal.needs_image:
        raise ConfigError(
            f"--images draws what is predicted on images, such as boxes, but the model's task is "
            f"{task.name}; leave it out"
        )
    if config.maps is not None and not task.goal.makes_maps:
        raise ConfigError(
            f"--maps is for maps of classes, but the model's task is {task.name}; leave it out"
        )
    images, maps = (None if each is None else Path(each) for each in (config.images, config.maps))
    return images, maps


def _opened(
    config: PredictConfig, run: TrainedRun, features: Mapping[str, Feature]
) -> tuple[Dataset, str] | None:
    """The dataset to predict for, and its split; None for files."""
    if len(config.inputs) > 1 or not is_dataset(config.inputs[0]):
        if config.split is not None:
            raise ConfigError("--split is for datasets; leave it out for files and folders")
        return None
    dataset = open_data(
        config.inputs[0],
        None,
        features,
        config.cache_dir,
        config.cache_bytes,
        allow_missing_shards=config.allow_missing_shards,
    )
    check_same_inputs(run.task, dataset.features, run.options)
    return choices.of_run(dataset, run.config, config.split)


def _create_report(
    config: PredictConfig, task: Task, opened: tuple[Dataset, str] | None
) -> ClassReport | None:
    if config.report is None:
        return None
    task.goal.check(task.goal.has_one_class, "--report needs one class per record")
    if opened is None:
        raise ConfigError("--report needs the true classes, which a dataset has; name a dataset")
    return ClassReport(task.goal.classes)


def _class_number(goal: Target, value: Any, source: str) -> int:
    """The number of a record's true class."""
    number = goal.number_of(value)
    if not 0 <= number < len(goal.classes):
        raise DatasetDamagedError(
            f"{goal.name} of {source} is {value!r}, which is not one of the {len(goal.classes)} "
            "classes of the model; leave --report out, or such records out of the dataset"
        )
    return number


def _records(
    config: PredictConfig,
    run: TrainedRun,
    features: Mapping[str, Feature],
    opened: tuple[Dataset, str] | None,
    items: Iterable[Item] | None = None,
) -> Iterator[_Record]:
    task = run.task
    own = [name for name in config.columns or () if name not in _predicted(results_of(task.goal))]
    items = items or read_items(config.inputs, task, features)
    for dataset, split, chunk in _datasets(items, features, opened):
        of_dataset = [] if chunk else own
        for name in of_dataset:
            if name not in dataset.features:
                raise UnknownNameError("column, for --columns,", name, dataset.features)
        dataset, others = _with_others(dataset, task, report=config.report is not None)
        others = [*dict.fromkeys([*others, *of_dataset])]
        batches = prediction_batches(
            task, dataset, split, batch_size=config.batch_size, others=others
        )
        number = 0
        for inputs, windows, columns in batches:
            predictions = {name: value.numpy() for name, value in run.step(inputs, windows).items()}
            by_name = {name: value.numpy() for name, value in columns.items()}
            files = by_name.get(_FILENAME)
            for place in range(len(next(iter(predictions.values())))):
                file = "" if files is None else files[place].decode()
                item = chunk[number] if chunk else None
                missing = [name for name in own if item and name not in item.row]
                if item and missing:
                    raise UnknownNameError("column, for --columns,", missing[0], item.row)
                yield _Record(
                    source=item.source if item else file or f"{split}:{number}",
                    image=bytes(by_name[_ENCODED][place]) if _ENCODED in by_name else None,
                    true=by_name[task.target][place] if config.report else None,
                    predictions={name: value[place] for name, value in predictions.items()},
                    columns={
                        name: item.row[name] if item else _plain(by_name[name][place])
                        for name in own
                    },
                )
                number += 1


def _datasets(
    items: Iterable[Item], features: Mapping[str, Feature], opened: tuple[Dataset, str] | None
) -> Iterator[tuple[Dataset, str, Sequence[Item]]]:
    """The datasets to predict for, with a split, and of files their records."""
    if opened is not None:
        yield *opened, ()
        return
    with tempfile.TemporaryDirectory() as folder:
        for file, chunk in write_chunks(items, Path(folder), _CHUNK):
            dataset = open_data(file, None, features)
            yield dataset, next(iter(dataset.splits)), chunk


def _with_others(dataset: Dataset, task: Task, *, report: bool) -> tuple[Dataset, list[str]]:
    """The dataset with what is read besides the inputs: its names in the elements.

    These are the encoded image for targets that need it, the name of its file, and for the report
    the target.
    """
    added: dict[str, Feature] = {}
    inputs = [*task.inputs.values()]
    if len(inputs) == 1 and inputs[0].group == "image":
        image = dataset.features[inputs[0].name]
        file_key = image.key_beside("filename")
        added[_FILENAME] = Feature(
            name=_FILENAME, kind="bytes", dtype="bytes", key=file_key, default=b""
        )
        if task.goal.needs_image:
            added[_ENCODED] = Feature(name=_ENCODED, kind="bytes", dtype="bytes", key=image.key)
    names = [*added, *([task.target] if report else [])]
    return dataclasses.replace(dataset, features={**dataset.features, **added}), names


def _check_format(config: PredictConfig, task: Task) -> None:
    """Raises ConfigError unless predictions of a task can be written as `_write_rows` does."""
    format_name = config.format
    if config.columns and format_name != "csv":
        raise ConfigError("--columns is for --format csv; leave it out")
    if format_name not in ("jsonl", "csv", *results_of(task.goal).documents):
        raise ConfigError(
            f"--format {format_name} is not for this model, whose task is {task.name}; use jsonl "
            "or csv"
        )


def _plain(value: Any) -> Any:
    """A value of a record as CSV has it."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value.tolist()


def _predicted(results: Results) -> dict[str, str]:
    """The predicted columns of a CSV file: those of `results`, and the target by its name."""
    named = {results.goal.name: results.columns[0]} if results.names_target else {}
    return {"source": "source", **{name: name for name in results.columns}, **named}


def _write_rows(config: PredictConfig, results: Results, rows: Iterable[Row], file: TextIO) -> None:
    """Writes rows: `jsonl`, a line a record; `csv`, some lines a record; or the task's document."""
    format_name = config.format
    if format_name == "jsonl":
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    elif format_name == "csv":
        lines = csv.writer(file, lineterminator="\n")
        names = _predicted(results)
        header = config.columns or ("source", *results.columns)
        lines.writerow(header)
        for row in rows:
            for line in results.lines(row):
                values = {**row, **dict(zip(results.columns, line, strict=True))}
                lines.writerow([values[names.get(name, name)] for name in header])
    else:
        file.write(json.dumps(results.documents[format_name](rows)) + "\n")
