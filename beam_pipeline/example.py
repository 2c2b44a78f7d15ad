"""`tf.train.Example` without TensorFlow.

The three messages of tensorflow/core/example/{example,feature}.proto are described here at
run time, in a descriptor pool of their own, so that a process that also imports TensorFlow
sees no clash. Bytes equal TensorFlow's own with `deterministic=True`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from beam_pipeline.errors import RecordError

FeatureValue = Sequence[bytes] | Sequence[int] | Sequence[float]
"""What one key of an Example holds: all bytes, all ints, or all floats; may be empty."""


def _describe() -> Any:
    """The message class of tf.train.Example."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="beam_pipeline/example.proto", package="tensorflow", syntax="proto3"
    )

    def message(name: str) -> Any:
        return file.message_type.add(name=name)

    def add(parent: Any, name: str, number: int, kind: Any, **more: Any) -> None:
        parent.field.add(
            name=name, number=number, type=kind, **{"label": field.LABEL_OPTIONAL, **more}
        )

    for name, kind in (
        ("BytesList", field.TYPE_BYTES),
        ("FloatList", field.TYPE_FLOAT),
        ("Int64List", field.TYPE_INT64),
    ):
        add(message(name), "value", 1, kind, label=field.LABEL_REPEATED)
    feature = message("Feature")
    feature.oneof_decl.add(name="kind")
    for number, (name, type_name) in enumerate(
        (("bytes_list", "BytesList"), ("float_list", "FloatList"), ("int64_list", "Int64List")), 1
    ):
        add(
            feature,
            name,
            number,
            field.TYPE_MESSAGE,
            type_name=f".tensorflow.{type_name}",
            oneof_index=0,
        )
    features = message("Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    add(entry, "key", 1, field.TYPE_STRING)
    add(entry, "value", 2, field.TYPE_MESSAGE, type_name=".tensorflow.Feature")
    add(
        features,
        "feature",
        1,
        field.TYPE_MESSAGE,
        type_name=".tensorflow.Features.FeatureEntry",
        label=field.LABEL_REPEATED,
    )
    add(message("Example"), "features", 1, field.TYPE_MESSAGE, type_name=".tensorflow.Features")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.Example"))


Example = _describe()
"""The message class; compatible with tf.train.Example on the wire."""


def encode(values: Mapping[str, FeatureValue]) -> bytes:
    """A serialized Example; the same values give the same bytes, whatever their order.

    An empty list is written as a feature without a kind, which every parser reads as an
    empty list of the kind it expects.

    Raises:
        RecordError: "value out of range": an int beyond 64 bits.
    """
    example = Example()
    feature = example.features.feature
    for key, value in values.items():
        if not value:
            feature[key].SetInParent()
        elif isinstance(value[0], bytes):
            feature[key].bytes_list.value.extend(value)
        elif isinstance(value[0], float):
            feature[key].float_list.value.extend(value)
        else:
            try:
                feature[key].int64_list.value.extend(value)
            except ValueError as error:
                raise RecordError("value out of range", f"feature {key}: {error}") from error
    data: bytes = example.SerializeToString(deterministic=True)
    return data


def decode(data: bytes) -> dict[str, list[bytes] | list[int] | list[float]]:
    """The values of a serialized Example by key, keys sorted.

    Raises:
        ValueError: `data` is not an Example.
    """
    try:
        example = Example.FromString(data)
    except DecodeError as error:
        raise ValueError(f"not a tf.train.Example: {error}") from error
    feature = example.features.feature
    values = {}
    for key in sorted(feature):
        kind = feature[key].WhichOneof("kind")
        values[key] = list(getattr(feature[key], kind).value) if kind else []
    return values
