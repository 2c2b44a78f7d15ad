"""The messages of tensorflow/core/example/{example,feature}.proto, without TensorFlow.

They are described here at run time, in a descriptor pool of their own, so that a process that also
imports TensorFlow sees no clash.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

_PROTO = """
name: "tfrecord_dataset/example.proto"
package: "tensorflow"
syntax: "proto3"
message_type {
  name: "BytesList"
  field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_BYTES }
}
message_type {
  name: "FloatList"
  field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_FLOAT }
}
message_type {
  name: "Int64List"
  field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_INT64 }
}
message_type {
  name: "Feature"
  oneof_decl { name: "kind" }
  field { name: "bytes_list" number: 1 type_name: ".tensorflow.BytesList" oneof_index: 0 }
  field { name: "float_list" number: 2 type_name: ".tensorflow.FloatList" oneof_index: 0 }
  field { name: "int64_list" number: 3 type_name: ".tensorflow.Int64List" oneof_index: 0 }
}
message_type {
  name: "Features"
  nested_type {
    name: "FeatureEntry"
    options { map_entry: true }
    field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
    field { name: "value" number: 2 label: LABEL_OPTIONAL type_name: ".tensorflow.Feature" }
  }
  field { name: "feature" number: 1 label: LABEL_REPEATED type_name: "Features.FeatureEntry" }
}
message_type {
  name: "Example"
  field { name: "features" number: 1 label: LABEL_OPTIONAL type_name: ".tensorflow.Features" }
}
"""
_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(text_format.Parse(_PROTO, descriptor_pb2.FileDescriptorProto()))


def _message_class(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"tensorflow.{name}"))


# The message classes; each is tf.train's of that name, on the wire and in use.
Example = _message_class("Example")
Features = _message_class("Features")
Feature = _message_class("Feature")
BytesList = _message_class("BytesList")
FloatList = _message_class("FloatList")
Int64List = _message_class("Int64List")
