"""Trained models for other programs: a SavedModel that takes what a client has."""

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import keras
import tensorflow as tf

from tfrecord_dataset import durable
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.replacement import replace_folder, restore_folder
from trainer import parsing
from trainer.errors import ConfigError
from trainer.input_pipeline import lengths, padding
from trainer.runs.directory import RunDirectory
from trainer.runs.trained import check_model_file, load_run
from trainer.tasks import Task
from trainer.tasks.reading import decoding_arguments
from trainer.tensors import Tensor

INPUTS, EXAMPLES = "serving_default", "examples"
_UNFINISHED = ".exporting-"


def export(
    run: str,
    output: str,
    *,
    which: str = "best",
    model_fn: str | None = None,
    overwrite: bool = False,
) -> str:
    """Writes the model of a run for other programs; returns `output`.

    A SavedModel takes batches of records in two signatures: `serving_default`, a tensor for each
    input by its name (encoded images, turned by their Exif orientation, and 16-bit WAV; texts;
    numbers), and `examples`, serialized `tf.train.Example`s. It prepares them as the training does,
    and returns what `predict` writes, with the class names. It needs TensorFlow alone, without this
    package and without Keras.

        >>> trainer.export("runs/cells", "exported/1")
        'exported/1'

    Args:
        run: The directory that `train` wrote.
        output: A directory for a SavedModel, which TF Serving expects to be called by a number;
            or a file `*.keras`, for the Keras model, which takes prepared inputs.
        which: "best" or "last": the model of the best epoch, or at the end.
        model_fn: `package.module:function` that made the model, for its own layers; or None.
        overwrite: Replace what is at `output`.

    Raises:
        ConfigError: There is no such model, `output` is no local path, or something is there.
        RunDamagedError: A file of the run is not what was written.
    """
    place = Path(output)
    if "://" in output:
        raise ConfigError(
            f"output (--output) {output!r} is not on this machine; copy it there from a directory"
        )
    if place.exists() and not overwrite:
        raise ConfigError(
            f"{output} exists; name another output (--output), or pass overwrite (--overwrite)"
        )
    file = RunDirectory(run).trained_model(which)
    durable.make_folders(os.fspath(place.parent))
    with _unfinished(place) as made:
        if place.suffix == ".keras":
            check_model_file(file)
            shutil.copyfile(file, made)
        else:
            trained = load_run(run, which, model_fn)
            _save(trained.task, trained.features_to_predict(), trained.model, made)
    return output


@contextlib.contextmanager
def _unfinished(place: Path) -> Iterator[Path]:
    """Where to write what lies at `place` afterwards, all of it and on disk, or nothing of it.

    So a server that watches the folder sees whole models only.
    """
    _delete_unfinished(place.parent)
    folder = tempfile.mkdtemp(prefix=_UNFINISHED, dir=place.parent)
    with durable.exclusive(folder, BlockingIOError()):  # empty folders alone are not locked
        try:
            made = Path(folder, place.name)
            yield made
            durable.sync_tree(folder)
            if made.is_dir() and place.is_dir():
                replace_folder(os.fspath(made), os.fspath(place))
                return
            if made.is_dir() or place.is_dir():
                with contextlib.suppress(FileNotFoundError):
                    os.replace(place, made.with_name("replaced"))
            durable.rename(os.fspath(made), os.fspath(place))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _delete_unfinished(parent: Path) -> None:
    """Deletes what killed exports left, after undoing what one did half."""
    for folder in parent.glob(f"{_UNFINISHED}*"):
        try:
            folder.rmdir()
        except OSError:  # there is something in it
            with (
                contextlib.suppress(OSError),
                durable.exclusive(os.fspath(folder), BlockingIOError()),
            ):
                for made in folder.iterdir():
                    restore_folder(os.fspath(made), os.fspath(parent / made.name))
                shutil.rmtree(folder)


def _save(task: Task, features: Mapping[str, Feature], model: keras.Model, folder: Path) -> None:
    module = tf.Module()
    module.weights = [variable.value for variable in model.variables]
    steps = {name: each.host_step() for name, each in task.inputs.items()}
    module.layers = [step for step in steps.values() if isinstance(step, keras.Layer)]  # tables
    reading = _Reading(task, features)

    def predict(columns: Mapping[str, Tensor]) -> dict[str, Tensor]:
        inputs = {name: step(columns[task.inputs[name].name]) for name, step in steps.items()}
        outputs = model(task.prepare(inputs), training=False)
        return task.goal.export(outputs, task.windows(columns))

    from_inputs = tf.function(lambda tensors: predict(reading.of_inputs(tensors)), autograph=False)
    from_examples = tf.function(
        lambda examples: predict(reading.of_examples(examples)), autograph=False
    )
    module.functions = [from_inputs, from_examples]
    signatures = {
        INPUTS: from_inputs.get_concrete_function(reading.specs),
        EXAMPLES: from_examples.get_concrete_function(tf.TensorSpec([None], tf.string, EXAMPLES)),
    }
    tf.saved_model.save(module, os.fspath(folder), signatures=signatures)


class _Reading:
    """The input pipeline of a task in one graph: from a batch to tensors by feature.

    Args:
        task: The trained one.
        features: Of its inputs, by name.
    """

    def __init__(self, task: Task, features: Mapping[str, Feature]) -> None:
        arguments = decoding_arguments(task, with_target=False)
        self._inputs = task.inputs
        self._features = [features[each.name] for each in task.inputs.values()]
        self._decoding = dataclasses.replace(task.decoding, portable=True)
        outputs = parsing.outputs(self._features, self._decoding)
        self._batching = lengths.Batching(
            size=None,
            lengths=lengths.pad_lengths(arguments["pad"], None, outputs),
            truncate=arguments["truncate"],
            padding=lengths.padding(arguments["padding_value"], outputs),
        )
        self._varies = {each.name for each in outputs if each.varies}
        by_name = {output.name: output for output in outputs}
        self.specs = {
            name: tf.TensorSpec([None], tf.string, name)
            if each.is_file
            else tf.TensorSpec([None, *output.shape], output.dtype, name)
            for name, each in task.inputs.items()
            for output in (by_name[each.name],)
        }

    def of_examples(self, examples: Tensor) -> parsing.Tensors:
        """From serialized Examples, [b]."""
        parsed = tf.io.parse_example(examples, parsing.parse_specs(self._features))
        return self._padded(parsing.decode_batch(self._features, parsed, self._decoding))

    def of_inputs(self, tensors: Mapping[str, Tensor]) -> parsing.Tensors:
        """From the tensors of `specs`."""
        files: list[Feature] = []
        encoded: parsing.Tensors = {}
        others: parsing.Tensors = {}
        for feature, (name, each) in zip(self._features, self._inputs.items(), strict=True):
            if each.is_file:
                files.append(feature)
                encoded[feature.key] = each.of_client(tensors[name])
            elif each.name in self._varies:
                others[each.name] = tf.RaggedTensor.from_tensor(tensors[name])
            else:
                others[each.name] = tensors[name]
        return self._padded(parsing.decode_batch(files, encoded, self._decoding) | others)

    def _padded(self, columns: parsing.Tensors) -> parsing.Tensors:
        return padding.to_dense(columns, self._batching)
