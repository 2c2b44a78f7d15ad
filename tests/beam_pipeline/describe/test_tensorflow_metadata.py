"""schema.pbtxt is a Schema of tensorflow_metadata."""

import pytest
import yaml
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from beam_pipeline.describe import tfds
from beam_pipeline.describe.tensorflow_metadata import schema_text
from beam_pipeline.schema.declaration import parse_schema

FIXED, ANY = (), None


def read(*declared):
    """Return (type, fixed shape or None for any number of values, whether required) by key."""
    schema = parse_schema([*declared])
    parsed = text_format.Parse(schema_text(schema), schema_pb2.Schema())
    assert [each.name for each in parsed.feature] == sorted(
        key for feature in schema for key in tfds.leaves(feature)
    )
    return {
        each.name: (
            schema_pb2.FeatureType.Name(each.type),
            tuple(dim.size for dim in each.shape.dim) if each.HasField("shape") else None,
            each.presence.min_fraction == 1,
        )
        for each in parsed.feature
    }


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("{kind: scalar, dtype: int64}", {"x": ("INT", FIXED, True)}),
        ("{kind: scalar, dtype: float32}", {"x": ("FLOAT", FIXED, True)}),
        ("{kind: text}", {"x": ("BYTES", FIXED, True)}),
        ("{kind: tensor, dtype: float32, shape: [2, 3]}", {"x": ("FLOAT", (2, 3), True)}),
        (
            "{kind: tensor, dtype: uint8, shape: [2, 3], encoding: bytes}",
            {"x": ("BYTES", FIXED, True)},
        ),
        ("{kind: sequence, dtype: int64, shape: [null]}", {"x": ("INT", ANY, False)}),
        (
            "{kind: class_label, classes: [a]}",
            {"x/label": ("INT", FIXED, True), "x/text": ("BYTES", FIXED, True)},
        ),
        (
            "{kind: class_label, classes: [a], shape: [null]}",
            {"x/label": ("INT", ANY, False), "x/text": ("BYTES", ANY, False)},
        ),
        ("{kind: class_label, key: y, bare: true, default: -1}", {"y": ("INT", ANY, False)}),
    ],
)
def test_types_and_shapes(declared, expected):
    assert read({"name": "x", **yaml.safe_load(declared)}) == expected


def test_names_are_escaped():
    assert list(read({"name": 'größe "x"', "kind": "text"})) == ['größe "x"']
