"""The messages of tensorflow/core/example/{example,feature}.proto, without TensorFlow.

They are described here at run time, in a descriptor pool of their own, so that a process that also
imports TensorFlow sees no clash.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def _describe() -> descriptor_pool.DescriptorPool:
    """A pool of the messages that make up a tf.train.Example."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="tfrecord_dataset/example.proto", package="tensorflow", syntax="proto3"
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
    return pool


_POOL = _describe()


def _message_class(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"tensorflow.{name}"))


# The message classes; each is tf.train's of that name, on the wire and in use.
Example = _message_class("Example")
Features = _message_class("Features")
Feature = _message_class("Feature")
BytesList = _message_class("BytesList")
FloatList = _message_class("FloatList")
Int64List = _message_class("Int64List")
