"""The files that describe a built dataset to other tools, as texts by file name."""

from collections.abc import Mapping, Sequence

from beam_pipeline import recipe
from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import card, label_map, tensorflow_metadata, tfds
from beam_pipeline.describe.shard_info import ShardInfo
from tfrecord_dataset.format.feature import Feature


def texts(
    config: BuildConfig, schema: Sequence[Feature], shards: Mapping[str, Sequence[ShardInfo]]
) -> dict[str, str]:
    """Render all files except metadata.json, build.json, statistics.json and rejects.jsonl."""
    sample = next((info.sample for infos in shards.values() for info in infos if info.sample), "")
    about = card.card(config, shards, schema, sample)
    # TFDS cannot read gzip.
    can_read = config.compression == "none"
    for_tfds = tfds.texts(config.name, config.version, schema, shards, reads_shards=can_read)
    own = {card.FILE: about, recipe.FILE: recipe.of_dataset(config)}
    return for_tfds | texts_of_schema(schema) | own


def texts_of_schema(schema: Sequence[Feature]) -> dict[str, str]:
    """Render the files that depend only on the features."""
    schema_text = tensorflow_metadata.schema_text(schema)
    names = tfds.class_names(schema) | label_map.texts(schema)
    return names | {tensorflow_metadata.FILE: schema_text}
