"""The label maps are read by the TF Object Detection API and by Model Garden."""

import csv
import io

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from beam_pipeline.describe.label_map import csv_text, protobuf_text


@pytest.fixture(scope="module")
def label_map_class():
    """StringIntLabelMap, from object_detection/protos/string_int_label_map.proto."""
    file = descriptor_pb2.FileDescriptorProto(name="label_map.proto", syntax="proto2")
    item = file.message_type.add(name="StringIntLabelMapItem")
    field = descriptor_pb2.FieldDescriptorProto
    for number, (name, kind) in enumerate(
        [
            ("name", field.TYPE_STRING),
            ("id", field.TYPE_INT32),
            ("display_name", field.TYPE_STRING),
        ],
        1,
    ):
        item.field.add(name=name, number=number, type=kind, label=field.LABEL_OPTIONAL)
    file.message_type.add(name="StringIntLabelMap").field.add(
        name="item",
        number=1,
        type=field.TYPE_MESSAGE,
        type_name="StringIntLabelMapItem",
        label=field.LABEL_REPEATED,
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("StringIntLabelMap"))


CLASSES = pytest.mark.parametrize(
    "classes",
    [
        pytest.param(["cat", "dog"], id="plain"),
        pytest.param(['"quoted"', "back\\slash", "tab\tand\nline", "a,b"], id="escapes"),
        pytest.param(["weiße Zelle", "猫", "🐈"], id="beyond ASCII"),
    ],
)


@CLASSES
def test_names_and_ids_from_one(label_map_class, classes):
    parsed = text_format.Parse(protobuf_text(classes), label_map_class())
    assert [(item.id, item.name) for item in parsed.item] == list(enumerate(classes, 1))


def test_the_text_is_the_one_people_write():
    assert protobuf_text(["cat"]) == 'item {\n  id: 1\n  name: "cat"\n}\n'


@CLASSES
def test_model_garden_reads_rows_without_a_header(classes):
    rows = csv.reader(io.StringIO(csv_text(classes)), delimiter=",")
    assert [(int(number), name) for number, name in rows] == list(enumerate(classes, 1))


def test_a_class_that_a_spreadsheet_would_run_is_a_text():
    classes = ["=cmd|' /C calc'!A0", "@SUM(1)", "+a", "-1", "+1.5", "cat"]
    rows = dict(csv.reader(io.StringIO(csv_text(classes))))
    assert [*rows.values()] == [*(f"'{name}" for name in classes[:3]), *classes[3:]]
