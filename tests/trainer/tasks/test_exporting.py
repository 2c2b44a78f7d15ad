"""Exported models predict the same as `predict`, in a process with only TensorFlow."""

import functools
import json
import os
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import keras
import numpy as np
import pytest
import tensorflow as tf
from kinds_of_learning import KINDS, learned, training
from PIL import Image
from run_files import UNTRAINED
from tiers import first_in_ci

import beam_pipeline
import trainer
from tfrecord_dataset import durable
from trainer.errors import ConfigError
from trainer.exporting import export
from trainer.options.command_options import PredictConfig
from trainer.predicting import predict
from trainer.runs.directory import RunDirectory
from trainer.tasks import models
from trainer.tasks.detection import candidates
from trainer.tasks.inputs import single_or_dict
from trainer.tasks.reading import evaluation_batches
from trainer.tasks.task_json import task_to_json

BLOOD = Path(__file__).parents[3] / "examples/data/blood"
# The serving process, which calls every signature with the test records.
SERVER = """
import sys
import numpy as np
import tensorflow as tf

folder = sys.argv[1]
model = tf.saved_model.load(f"{folder}/1")
asked = dict(np.load(f"{folder}/asked.npz", allow_pickle=True))
examples = tf.constant(asked.pop("examples").tolist())
found = {"examples": model.signatures["examples"](examples=examples)}
serve = model.signatures["serving_default"]
names = serve.structured_input_signature[1]
found["inputs"] = serve(
    **{key: tf.constant(asked[spec.name].tolist(), spec.dtype) for key, spec in names.items()}
)
for signature, outputs in found.items():
    outputs = {key: value.numpy() for key, value in outputs.items()}
    np.savez(f"{folder}/{signature}.npz", **outputs)
assert not any(module.split(".")[0] == "trainer" for module in sys.modules)
"""


def make_run(path, dataset, **options):
    """Make a run of an untrained model, with random weights."""
    task = learned(dataset, **options)
    keras.utils.set_random_seed(1)
    run = RunDirectory(str(path))
    run.path.mkdir()
    run.write_config(
        {"options": training(**options).to_json(), **UNTRAINED},
        task_to_json(task, dataset.features),
    )
    run.save_model(models.build(task), run.model)
    return task


def write_questions(folder, directory, dataset, task):
    """Write the records of the test split as inputs of each signature."""
    shards = sorted(map(str, directory.glob("*-test.tfrecord-*")))
    examples = [record.numpy() for record in tf.data.TFRecordDataset(shards)]
    asked = {"examples": np.array(examples, object)}
    for name, each in task.inputs.items():
        feature = dataset.features[each.name]
        if feature.kind in ("image", "audio"):
            lists = [tf.train.Example.FromString(example).features.feature for example in examples]
            values = [each[feature.key].bytes_list.value[0] for each in lists]
            asked[name] = np.array(values, object)
        else:
            padding = {} if each.padding is None else {each.name: each.padding}
            options = {"batch_size": len(examples), "padding_value": padding}
            (batch,) = dataset.batches("test", features=[each.name], **options)
            asked[name] = batch[each.name].numpy()
    np.savez(folder / "asked.npz", **asked)


@pytest.fixture(scope="module")
def predicted(directory_of, tmp_path_factory):
    """A function from a kind to (folder of a run and inputs, task, rows of `predict`)."""

    @functools.cache
    def get(kind):
        folder = tmp_path_factory.mktemp("exported")
        # Padding and cutting are also in the graph.
        pad = {"sequence": 5} if kind in ("sequence", "series", "tags") else {}
        side = 64 if kind in ("segmentation", "boxes") else 12
        dataset = trainer.open(directory_of(kind))
        task = make_run(folder / "run", dataset, image_size=side, pad=pad)
        write_questions(folder, directory_of(kind), dataset, task)
        output = folder / "rows.jsonl"
        options = {"run_path": str(folder / "run"), "output": str(output), "quiet": True}
        options |= {"min_score": 0.0} if kind == "boxes" else {}
        predict(PredictConfig(inputs=(str(directory_of(kind)),), **options))
        rows = [json.loads(line) for line in output.read_text().splitlines()]
        return folder, task, rows

    return get


@pytest.fixture(scope="module")
def exported(predicted):
    """A function like `predicted`; the folders also have the served outputs."""

    @functools.cache
    def get(kind):
        folder, task, rows = predicted(kind)
        export(str(folder / "run"), str(folder / "1"))
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        served = [sys.executable, "-c", SERVER, folder]
        subprocess.run(served, check=True, cwd="/", env=environment)
        return folder, task, rows

    return get


def check_rows(task, rows, answers, images, tolerance):
    """Check that rows from other runtimes' outputs equal those of `predict`."""
    for number, row in enumerate(rows):
        decoded = {name: values[number] for name, values in answers.items()}
        image = None if images is None else images[number]
        found = task.goal.row(decoded, image, 0.0)
        known = {name: value for name, value in row.items() if name in found}
        assert leaves(found, str) == leaves(known, str)
        expected = leaves(known, int | float)
        assert leaves(found, int | float) == pytest.approx(expected, rel=tolerance, abs=1e-4)


def leaves(value, kind):
    """Return the numbers, or the texts, of a JSON value as a list."""
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        return [leaf for pair in inner for each in pair for leaf in leaves(each, kind)]
    return [value] if isinstance(value, kind) else []


# Inputs of one batch and of several lengths, a target of one number and of an image's parts.
IN_CI = ("text", "boxes")
EACH = first_in_ci([*IN_CI, *(kind for kind in KINDS if kind not in IN_CI)], len(IN_CI))


@pytest.mark.slow
@pytest.mark.parametrize("signature", ["examples", "inputs"])
@pytest.mark.parametrize("kind", EACH)
def test_every_kind_of_learning_is_served_as_predicted(exported, kind, signature):
    """Rows from served outputs equal those that `predict` has written."""
    folder, task, rows = exported(kind)
    answers = dict(np.load(folder / f"{signature}.npz", allow_pickle=True))
    asked = np.load(folder / "asked.npz", allow_pickle=True)

    assert len({json.dumps({**row, "source": "", "image_id": 0}) for row in rows}) > 1
    assert len(rows) == 13
    check_rows(task, rows, answers, asked.get("image"), 1e-5)
    if kind != "boxes" and task.classes:
        assert answers["classes"].tolist() == [[each.encode() for each in task.classes]] * 13
    if kind == "segmentation":
        np.testing.assert_array_equal(
            answers["probabilities"].argmax(axis=-1), answers["prediction"]
        )
    assert kind != "boxes" or sum(len(row["detections"]) for row in rows) > 20


def run_tflite(file, inputs):
    """Return the outputs of LiteRT's interpreter by name."""
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(model_path=str(file)).get_signature_runner()(**inputs)


def run_onnx(file, inputs):
    """Return the outputs of ONNX Runtime by name."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    assert {each.shape[0] for each in session.get_inputs()} == {"batch"}
    return dict(zip(names, session.run(None, inputs), strict=True))


def run_keras(file, inputs, task):
    """Return the outputs of Keras's model by name, logits as probabilities."""
    model = keras.models.load_model(file, compile=False)
    return {
        name: np.asarray(values)
        for name, values in task.goal.export_numbers(model(single_or_dict(inputs))).items()
    }


def decoded(task, numbers):
    """Convert numbers from other runtimes to the arrays that `predict` makes rows from."""
    names = np.array([name.encode() for name in task.classes], object)
    if "probability" in numbers:
        return {**numbers, "prediction": names[numbers["probabilities"].argmax(axis=-1)]}
    return numbers


RUN_IN_CI = (("table", "keras"), ("segmentation", "tflite"), ("table", "onnx"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "format"),
    [
        pytest.param(kind, format, marks=() if (kind, format) in RUN_IN_CI else pytest.mark.nightly)
        for kind in KINDS
        for format in ("keras", "tflite", "onnx")
        if (kind, format) != ("audio", "onnx")  # below
        and (kind, format) != ("boxes", "keras")  # it would compare the model with itself
    ],
)
def test_every_kind_of_learning_is_run_as_predicted(predicted, directory_of, kind, format):
    """Rows from other runtimes' outputs equal those of `predict` within 1e-4."""
    folder, task, rows = predicted(kind)
    file = folder / f"model.{format}"
    export(str(folder / "run"), str(file))
    run_of_task = functools.partial(run_keras, task=task)
    run = {"keras": run_of_task, "tflite": run_tflite, "onnx": run_onnx}[format]
    dataset = trainer.open(directory_of(kind))
    ((columns, *_),) = evaluation_batches(task, dataset, "test", batch_size=len(rows))
    prepared = task.prepare(columns)
    named = prepared if isinstance(prepared, dict) else {next(iter(task.inputs)): prepared}

    numbers = run(file, {name: np.asarray(x) for name, x in named.items()})

    if kind == "boxes":  # not suppressed here; equal scores have no order
        model = keras.models.load_model(folder / "run/model.keras", compile=False)
        boxes, scores = candidates(task.goal.points, model(prepared))
        np.testing.assert_allclose(numbers["boxes"], boxes, atol=1e-4)
        np.testing.assert_allclose(numbers["scores"], scores, atol=1e-4)
        return
    asked = np.load(folder / "asked.npz", allow_pickle=True)
    check_rows(task, rows, decoded(task, numbers), asked.get("image"), 1e-4)


def _white_cells(file):
    """Yield the corners of crops of 300 x 240 pixels around the white cells of a photograph."""
    for item in ElementTree.parse(file).iterfind("object[name='WBC']"):
        sides = {side.tag: int(side.text) for side in item.find("bndbox")}
        x, y = sides["xmin"] + sides["xmax"], sides["ymin"] + sides["ymax"]
        yield min(max(x // 2 - 150, 0), 340), min(max(y // 2 - 120, 0), 240)


@pytest.fixture(scope="module")
def trained_on_photographs(tmp_path_factory):
    """A folder with crops of photographs with and without a white cell, and a run on them."""
    folder = tmp_path_factory.mktemp("photographs")
    for file in BLOOD.glob("Annotations/*.xml"):
        (left, top), *_ = _white_cells(file)
        with Image.open(BLOOD / "JPEGImages" / f"{file.stem}.jpg") as image:
            for name, corner in {"with": (left, top), "without": (340 - left, 240 - top)}.items():
                place = folder / "crops" / name / f"{file.stem}.jpg"
                place.parent.mkdir(parents=True, exist_ok=True)
                x, y = corner
                image.crop((x, y, x + 300, y + 240)).save(place, quality=90)
    data = beam_pipeline.build(input=str(folder / "crops"), output=str(folder / "data"))
    trainer.train(data.path, folder / "run", image_size=64, epochs=12, seed=0, quiet=True)
    return folder


@pytest.mark.nightly
@pytest.mark.parametrize("format", ["tflite", "onnx"])
def test_clients_prepare_photographs_by_the_files_beside_the_model(trained_on_photographs, format):
    """Pillow's antialiased resize gives probabilities within 0.005 of those of `predict`."""
    folder = trained_on_photographs
    file = folder / f"model.{format}"
    export(str(folder / "run"), str(file))
    prepare = runpy.run_path(f"{file}.py")["prepare"]
    rows = trainer.predict(folder / "run", folder / "crops")
    classes = json.loads(Path(f"{file}.json").read_text())["classes"]

    run = {"tflite": run_tflite, "onnx": run_onnx}[format]
    for row in rows:
        found = run(file, {"image": prepare("image", row["source"])})["probabilities"][0]
        wanted = [row["probabilities"][name] for name in classes]
        assert found.tolist() == pytest.approx(wanted, abs=0.005), row["source"]
    assert len(Path(f"{file}.py").read_text().splitlines()) <= 15


@pytest.mark.slow
def test_class_names_are_in_the_file(predicted):
    import onnx

    folder, _, _ = predicted("names")
    for name in ("named.tflite", "named.onnx"):
        export(str(folder / "run"), str(folder / name))

    with zipfile.ZipFile(folder / "named.tflite") as archive:
        assert archive.read("labels.txt") == b"high\nlow\n"
    (stated,) = onnx.load(folder / "named.onnx").metadata_props
    assert (stated.key, json.loads(stated.value)) == ("classes", ["high", "low"])


@pytest.mark.slow
def test_a_model_that_onnx_has_no_operators_for(predicted, tmp_path):
    folder, _, _ = predicted("audio")

    with pytest.raises(ConfigError, match=r"cannot be converted to onnx: No Op registered for RFF"):
        export(str(folder / "run"), str(tmp_path / "model.onnx"))
    assert not list(tmp_path.iterdir())


def test_without_the_library_of_a_format(directory_of, tmp_path, monkeypatch):
    make_run(tmp_path / "run", trainer.open(directory_of("regression")))
    monkeypatch.setitem(sys.modules, "tf2onnx", None)

    with pytest.raises(ConfigError, match=r"needs onnx and tf2onnx; pip install .*\[onnx\]"):
        export(str(tmp_path / "run"), str(tmp_path / "model.onnx"))


@pytest.mark.parametrize(
    ("output", "options", "message"),
    [
        ("1", {"format": "onnx"}, r"'1' does not suit format \(--format\) onnx; end .* in .onnx"),
        ("a.keras", {"format": "tflite"}, r"does not suit .* tflite; end its name in .tflite"),
        ("a.keras", {"format": "saved_model"}, r"does not suit .*; name a directory"),
        ("1", {"format": "pickle"}, r"unknown format 'pickle'"),
        ("1", {"which": "last"}, r"has no last.keras: its training did not finish"),
        ("1", {"which": "newest"}, r"unknown model of .*run 'newest'.*: best, last"),
        ("s3://bucket/1", {}, r"output \(--output\) 's3://bucket/1' is not on this machine; copy"),
    ],
)
def test_what_cannot_be_exported(stub_run, tmp_path, monkeypatch, output, options, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message):
        export(stub_run, output, **options)


@pytest.mark.nightly
def test_audio_of_another_rate_is_resampled(directory_of, tmp_path):
    make_run(tmp_path / "run", trainer.open(directory_of("audio")))
    export(str(tmp_path / "run"), str(tmp_path / "1"))
    serve = tf.saved_model.load(tmp_path / "1").signatures["serving_default"]
    tone = np.sin(np.arange(4000) * (2 * np.pi * 440 / 8000)).astype(np.float32)
    higher = np.sin(np.arange(8000) * (2 * np.pi * 440 / 16000)).astype(np.float32)
    answers = [
        serve(audio=tf.audio.encode_wav(samples[:, None], rate)[None])["probabilities"]
        for samples, rate in [(tone, 8000), (higher, 16000)]
    ]
    np.testing.assert_allclose(*answers, atol=0.01)


@pytest.fixture
def stub_run(tmp_path):
    """A run with an archive without a model as its model, and without a best one."""
    run = RunDirectory(str(tmp_path / "run"))
    run.path.mkdir()
    run.write_config({"options": training().to_json(), **UNTRAINED}, {})
    with zipfile.ZipFile(run.model, "w") as archive:
        archive.writestr("config.json", "a model")
    return str(run.path)


def test_the_keras_model_is_copied(stub_run, tmp_path):
    output = tmp_path / "served/cells.keras"

    assert export(stub_run, str(output)) == str(output)
    model = RunDirectory(stub_run).model.read_bytes()
    assert output.read_bytes() == model
    with pytest.raises(
        ConfigError, match=r"exists; name another output \(--output\), or pass overwrite"
    ):
        export(stub_run, str(output))
    output.write_bytes(b"an older one")
    export(stub_run, str(output), overwrite=True)
    assert output.read_bytes() == model
    assert [file.name for file in output.parent.iterdir()] == ["cells.keras"]


def test_what_killed_exports_left_goes(stub_run, tmp_path):
    (tmp_path / ".exporting-killed").mkdir()
    (tmp_path / ".exporting-killed/2").mkdir()
    (tmp_path / ".exporting-empty").mkdir()
    other = tmp_path / ".exporting-running"
    (other / "3").mkdir(parents=True)
    # On a file system without exchange, this export was killed between its two renames.
    (tmp_path / ".exporting-halfway/1.aside").mkdir(parents=True)
    (tmp_path / ".exporting-halfway/1").mkdir()

    with durable.exclusive(str(other), AssertionError()):
        export(stub_run, str(tmp_path / "model.keras"))

    names = {each.name for each in tmp_path.iterdir()}
    assert names == {"run", "model.keras", ".exporting-running", "1"}


def test_a_file_takes_the_place_of_a_folder(stub_run, tmp_path):
    output = tmp_path / "out/model.keras"
    (output / "inside").mkdir(parents=True)

    export(stub_run, str(output), overwrite=True)

    assert output.read_bytes() == RunDirectory(stub_run).model.read_bytes()
    assert [each.name for each in output.parent.iterdir()] == ["model.keras"]
