"""A package that adds a layout, a model and a metric: `pip install examples/own_package`.

    beam-tfrecords build FOLDER --output data
    beam-tfrecords-train train --data data/FOLDER --output runs/spots --model linear \
        --metrics brier --best-by brier

Each line of a file `*.spots` is a spot: "x y class".
"""

import dataclasses

import apache_beam as beam

from beam_pipeline import ClassLabel, Consumed, Layout, Record, Rejected, claim_of_files
from beam_pipeline.files import storage
from beam_pipeline.sources.tree import find_files
from trainer import Metric, Model


def _is_ours(name):
    return name.endswith(".spots")


@dataclasses.dataclass
class ReadSpots(beam.PTransform):
    """The spots of all files: Records {x, y, label}."""

    path: str

    def expand(self, pipeline):
        files = find_files(self.path, _is_ours)
        return pipeline | beam.Create(files) | beam.FlatMap(read_spots)


def read_spots(file):
    """Yield a Record or Rejected for each line of a file."""
    yield Consumed(paths=(file.path,))
    for number, line in enumerate(storage.read_text(file.path).splitlines(), start=1):
        key = f"{file.relative}:{number}"
        try:
            x, y, name = line.split()
            features = {"x": float(x), "y": float(y), "label": ClassLabel(name)}
        except ValueError as error:
            yield Rejected(source=key, reason="no spot", detail=str(error))
            continue
        yield Record(key=key, features=features, split=file.split)


LAYOUT = Layout(
    name="spots",
    sign="*.spots files",
    claim=lambda tree, config: claim_of_files("spots", tree, list(filter(_is_ours, tree.files()))),
    read=lambda claim, config, scratch: ReadSpots(claim.path),
)


def linear(task):
    """Return a model of one layer on all inputs."""
    import keras

    inputs = {
        name: keras.Input(each.shape, dtype=each.dtype, name=name)
        for name, each in task.inputs.items()
    }
    tensors = list(inputs.values())
    x = tensors[0] if len(tensors) == 1 else keras.layers.Concatenate()(tensors)
    outputs = keras.layers.Dense(task.num_outputs)(x)
    return keras.Model(inputs if len(tensors) > 1 else x, outputs)


LINEAR = Model(
    name="linear",
    learns=("classification", "regression"),
    build=linear,
    about="one layer on all inputs",
)


def brier(target, outputs):
    """Squared distance of each example's probabilities from its class: [batch]."""
    import tensorflow as tf

    wanted = tf.one_hot(target, outputs.shape[-1]) if len(target.shape) == 1 else target
    return tf.reduce_sum(tf.square(tf.nn.softmax(outputs) - wanted), axis=-1)


BRIER = Metric(name="brier", best="min", of_examples=brier, learns=("classification",))
