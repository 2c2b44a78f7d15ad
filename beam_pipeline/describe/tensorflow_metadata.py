"""schema.pbtxt: the Examples' keys as a tensorflow_metadata Schema, for TFX and Ray.

Source: tensorflow_metadata/proto/v0/schema.proto. A fixed shape becomes a FixedLenFeature in
TFX's tools, a count of values a VarLenFeature.
"""

from collections.abc import Iterable, Iterator

from google.protobuf.text_encoding import CEscape

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import ListSpec, list_specs

FILE = "schema.pbtxt"

_TYPES = {"bytes": "BYTES", "float32": "FLOAT", "int64": "INT"}


def schema_text(schema: Iterable[Feature]) -> str:
    """Render a Schema with every key, sorted."""
    messages = {
        key: _feature(key, spec, feature)
        for feature in schema
        for key, spec in list_specs(feature).items()
    }
    return "".join(messages[key] for key in sorted(messages))


def _feature(key: str, spec: ListSpec, feature: Feature) -> str:
    lines = [f'name: "{CEscape(key.encode(), as_utf8=True)}"', f"type: {_TYPES[spec.kind]}"]
    lines += _shape(spec, feature)
    return "".join(["feature {\n", *(f"  {line}\n" for line in lines), "}\n"])


def _shape(spec: ListSpec, feature: Feature) -> Iterator[str]:
    if spec.length is None:
        yield "value_count { min: 0 }"
    elif spec.optional:
        yield f"value_count {{ min: 0 max: {spec.length} }}"
    else:
        yield "presence { min_fraction: 1 min_count: 1 }"
        is_list = feature.kind == "tensor" and feature.encoding != "bytes"
        sizes = feature.shape if is_list else ()
        yield f"shape {{ {''.join(f'dim {{ size: {size} }} ' for size in sizes)}}}"
