"""Exports trained models: SavedModel, Keras, TFLite, ONNX."""

import contextlib
import dataclasses
import json
import logging
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from tfrecord_dataset import durable
from tfrecord_dataset.durable import replace_folder, restore_folder
from tfrecord_dataset.extras import install
from tfrecord_dataset.format.feature import Feature
from trainer import parsing
from trainer.errors import ConfigError, UnknownNameError
from trainer.input_pipeline import padding
from trainer.runs.directory import RunDirectory
from trainer.runs.trained import check_model_file, open_run
from trainer.tasks import Task
from trainer.tasks.inputs import ImageInput, keras_inputs, single_or_dict
from trainer.tasks.reading import decoding_arguments
from trainer.tensors import Tensor
from trainer.views.pixels import GREY

INPUTS, EXAMPLES = "serving_default", "examples"
_SAVED_MODEL, _KERAS, _TFLITE, _ONNX = FORMATS = ("saved_model", "keras", "tflite", "onnx")
# Version of the operators, supported since ONNX Runtime 1.14.
_OPSET = 18
_UNFINISHED = ".exporting-"
# Written next to TFLite and ONNX models, whose clients prepare the inputs.
_PREPARE = '''"""Inputs of the model of this name: prepare("image", "photo.jpg"), or numbers."""
import json
from pathlib import Path
import numpy as np
from PIL import Image, ImageOps
def prepare(name, value):
    given = json.loads(Path(__file__).with_suffix(".json").read_text())["inputs"][name]
    if given["kind"] == "image":
        image = ImageOps.exif_transpose(Image.open(value)).convert(given["mode"])
        size, bars = (given["width"], given["height"]), given["letterbox"]
        if bars:
            image = ImageOps.pad(image, size, 2, tuple(bars), (0.4999, 0.4999))
        image = image.resize(size, Image.Resampling.BILINEAR)
        value = np.asarray(image, np.float32) / given["divisor"]
    return np.asarray(value, given["dtype"]).reshape(1, *[n or -1 for n in given["shape"]])
'''
_MODES: Mapping[int, str] = {1: "L", 3: "RGB", 4: "RGBA"}


def export(
    run: str,
    output: str,
    *,
    format: str | None = None,
    which: str = "best",
    model_fn: str | None = None,
    overwrite: bool = False,
) -> str:
    """Export the model of a run; return `output`.

    A SavedModel takes batches of records in two signatures: `serving_default`, one tensor per input
    by its name (encoded images, turned by their Exif orientation, and 16-bit WAV; texts; numbers),
    and `examples`, serialized `tf.train.Example`s. It prepares them as in training, and returns
    the output of `predict`, with class names. It needs only TensorFlow, without this package or
    Keras.

    The other formats are files whose models take the inputs of the Keras model: for an image its
    pixels, float32 [b, height, width, channels] in 0..1. TFLite and ONNX return numbers, such as
    `probabilities`; for boxes those of all points, to which the client applies suppression.
    `OUTPUT.json` describes their inputs, and `OUTPUT.py` prepares them.

        >>> trainer.export("runs/cells", "exported/1")
        'exported/1'

    Args:
        run: The run's directory.
        output: A directory for a SavedModel, which TF Serving expects to be named by a number; or a
            file `*.keras`, `*.tflite` or `*.onnx`.
        format: "saved_model", "keras", "tflite" or "onnx"; None to use the suffix of `output`.
        which: "best" or "last": the model of the best or the last epoch.
        model_fn: `package.module:function` that made a model with its own layers; or None.
        overwrite: Replace what is at `output`.

    Raises:
        ConfigError: The model does not exist or cannot be converted, or `output` exists, is not a
            local path, or does not match the format.
        RunDamagedError: A file of the run was modified or damaged.
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
    chosen = _chosen_format(place, format)
    file = RunDirectory(run).trained_model(which)
    durable.make_folders(os.fspath(place.parent))
    with _unfinished(place) as made:
        if chosen == _KERAS:
            check_model_file(file)
            shutil.copyfile(file, made)
            return output
        trained = open_run(run, which=which, model_fn=model_fn)
        if chosen == _SAVED_MODEL:
            _save(trained.learned, trained.features_to_predict(), trained.model, made)
        elif chosen == _TFLITE:
            _save_tflite(trained.learned, trained.model, made)
        else:
            _save_onnx(trained.learned, trained.model, made)
    if chosen in (_TFLITE, _ONNX):
        about = _about(trained.learned, trained.features)
        for suffix, text in {"json": json.dumps(about, indent=1), "py": _PREPARE}.items():
            with durable.replacing(f"{output}.{suffix}", synced=False) as handle:
                handle.write(text.encode())
    return output


def _about(task: Task, features: Mapping[str, Feature]) -> dict[str, Any]:
    """Describe the inputs of a model by their names in it, and its classes."""
    inputs: dict[str, dict[str, Any]] = {}
    for name, each in task.inputs.items():
        inputs[name] = {"kind": each.kind, "shape": each.shape, "dtype": each.dtype}
        if isinstance(each, ImageInput):
            is_short = features[each.name].dtype == "uint16"
            inputs[name] |= {
                "height": each.height,
                "width": each.width,
                "channels": each.channels,
                "mode": "I;16" if is_short else _MODES.get(each.channels),
                "divisor": 65_535 if is_short else 255,
                "letterbox": [GREY] * each.channels * task.goal.keeps_aspect,  # colour of the bars
            }
    return {"inputs": inputs, "classes": task.classes}


def _chosen_format(place: Path, format: str | None) -> str:
    """Return the format of an output; raise ConfigError if its name does not match."""
    suffix = place.suffix.removeprefix(".")
    of_name = suffix if suffix in FORMATS[1:] else _SAVED_MODEL
    if format not in (None, *FORMATS):
        raise UnknownNameError("format", format, FORMATS)
    if format not in (None, of_name):
        remedy = "name a directory" if format == _SAVED_MODEL else f"end its name in .{format}"
        raise ConfigError(
            f"output (--output) {place.name!r} does not suit format (--format) {format}; {remedy}"
        )
    return of_name


@contextlib.contextmanager
def _unfinished(place: Path) -> Iterator[Path]:
    """Yield a path to write to, whose content is then moved to `place`, complete and on disk.

    A server that watches the folder therefore sees only complete models.
    """
    _delete_unfinished(place.parent)
    folder = tempfile.mkdtemp(prefix=_UNFINISHED, dir=place.parent)
    with durable.exclusive(folder, BlockingIOError()):  # empty folders are not locked
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
    """Delete the leftovers of killed exports, after undoing incomplete replacements."""
    for folder in parent.glob(f"{_UNFINISHED}*"):
        try:
            folder.rmdir()
        except OSError:  # not empty
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
    """Input pipeline of a trained task in one graph, from a batch to tensors by feature."""

    def __init__(self, task: Task, features: Mapping[str, Feature]) -> None:
        arguments = decoding_arguments(task, with_target=False)
        self._inputs = task.inputs
        self._features = [features[each.name] for each in task.inputs.values()]
        self._decoding = dataclasses.replace(task.decoding, portable=True)
        outputs = parsing.outputs(self._features, self._decoding)
        self._batching = padding.Batching(
            size=None,
            lengths=padding.pad_lengths(arguments["pad"], outputs),
            truncate=arguments["truncate"],
            padding=padding.padding_values(arguments["padding_value"], outputs),
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
        """Parse serialized Examples, [b]."""
        parsed = tf.io.parse_example(examples, parsing.parse_specs(self._features))
        return self._padded(parsing.decode_batch(self._features, parsed, self._decoding))

    def of_inputs(self, tensors: Mapping[str, Tensor]) -> parsing.Tensors:
        """Decode tensors by name, as in `specs`."""
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


def _of_tensors(task: Task, model: keras.Model) -> Any:
    """Return a tf.function from the Keras model's inputs to numbers, each by name."""
    inputs = keras_inputs(task.inputs)
    specs = [tf.TensorSpec(each.shape, each.dtype, name) for name, each in inputs.items()]

    def predict(*tensors: Tensor) -> dict[str, Tensor]:
        named = dict(zip(inputs, tensors, strict=True))
        return task.goal.export_numbers(model(single_or_dict(named), training=False))

    return tf.function(predict, input_signature=specs, autograph=False)


def _save_tflite(task: Task, model: keras.Model, file: Path) -> None:
    """Save with class names in `labels.txt`, zipped like TFLite's associated files."""
    module = tf.Module()
    module.weights = [variable.value for variable in model.variables]
    function = _of_tensors(task, model).get_concrete_function()
    with _converting(_TFLITE, "tensorflow"):
        converter = tf.lite.TFLiteConverter.from_concrete_functions([function], module)
        file.write_bytes(converter.convert())
    if task.classes:
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr("labels.txt", "".join(f"{name}\n" for name in task.classes))


def _save_onnx(task: Task, model: keras.Model, file: Path) -> None:
    """Save with class names in the metadata, as a JSON list."""
    try:
        import onnx
        import tf2onnx
    except ImportError as error:
        raise ConfigError(f"ONNX needs onnx and tf2onnx; {install('onnx')}") from error
    function = _of_tensors(task, model)
    with _converting(_ONNX, "tensorflow", "tf2onnx"):
        converted, _ = tf2onnx.convert.from_function(
            function, input_signature=function.input_signature, opset=_OPSET
        )
        onnx.checker.check_model(converted)  # finds operators missing in ONNX
    for each in (*converted.graph.input, *converted.graph.output):
        each.type.tensor_type.shape.dim[0].dim_param = "batch"
    if task.classes:
        onnx.helper.set_model_props(converted, {"classes": json.dumps(task.classes)})
    file.write_bytes(converted.SerializeToString())


@contextlib.contextmanager
def _converting(format: str, *names: str) -> Iterator[None]:
    """Raise ConfigError if a conversion fails; suppress the warnings of its loggers."""
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ConfigError(
            f"the model cannot be converted to {format}: {reason}; export a saved_model"
        ) from error
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)
