"""A declared schema meets other people's Examples, which keep their keys."""

import dataclasses
import difflib
from collections.abc import Collection

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.inspect.stored_example import expectations
from beam_pipeline.sources.tfrecord.files import find_record_files
from beam_pipeline.sources.tfrecord.read import first_records
from tfrecord_dataset import feature_keys
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import list_specs


def complete_with_keys(config: BuildConfig, path: str) -> BuildConfig:
    """`config` with the declared features under the keys that the records at `path` have.

    Raises:
        ConfigError: A declared feature is under no key, or an option asks for conversions.
    """
    refuse_conversions(config)
    if not config.schema:
        return config
    keys = expectations(first_records(find_record_files(path)[0]))
    schema = tuple(with_key_of(feature, keys) for feature in config.schema)
    return dataclasses.replace(config, schema=schema)


def refuse_conversions(config: BuildConfig) -> None:
    """Examples are written as they are.

    Raises:
        ConfigError: An option asks for something else.
    """
    asked = {
        "--image-max-side": config.image.max_side,
        "--image-size": config.image.size,
        "--image-format": config.image.format != "keep",
        "--audio-sample-rate": config.audio.sample_rate,
        "--audio-mono": config.audio.mono,
        "--tokenizer": config.tokenizer,
    }
    for option, value in asked.items():
        if value:
            raise ConfigError(
                f"{option} converts, but records of TFRecord files are written unchanged; leave "
                "it out, or build from the raw files"
            )


def with_key_of(feature: Feature, keys: Collection[str]) -> Feature:
    """`feature` under the key that the records have, bare where they have nothing beside it.

    Raises:
        ConfigError: They have no such key.
    """
    found = feature_keys.with_key_of(feature, keys, (feature.name,))
    if found is not None:
        beside = list_specs(found).keys() - {found.key}
        bare = not (beside and beside <= set(keys))
        if found.kind == "boxes" and not found.encoding:
            label, text = map(found.key_beside, ("class/label", "class/text"))
            bare = label in keys and text not in keys
        return dataclasses.replace(found, bare=feature.bare or bare)
    if feature.kind == "sequence":  # which the first records may lack
        return dataclasses.replace(feature, bare=True)
    near = difflib.get_close_matches(feature.name, list(keys), n=1)
    raise ConfigError(
        f"feature {feature.name!r} of --schema has no key in the records, which have "
        f"{', '.join(sorted(keys))}; "
        + (f"did you mean {near[0]!r}?" if near else 'state its "key"')
    )
