"""Options of a training as a YAML file: `train --save run.yaml`, `train --config run.yaml`.

Keys are the fields of TrainConfig; a text is parsed as on the command line.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tfrecord_dataset import durable
from tfrecord_dataset.errors import did_you_mean, raise_together
from tfrecord_dataset.options import Field, fields_of
from trainer.errors import ConfigError
from trainer.options.train_options import TrainConfig, as_typed

_HEAD = "# To train again: beam-tfrecords-train train --config {name}\n"
_DEFAULTS = "# Lines behind a # are defaults.\n"


def load(path: str) -> dict[str, Any]:
    """Load options by name.

    Raises:
        ConfigError: The file cannot be read, or has unknown keys or invalid values; the message
            names all of them.
    """
    try:
        lines = yaml.load(Path(path).read_text(), yaml.BaseLoader)  # all values are texts
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"the options in {path} cannot be read: {reason}") from error
    if not isinstance(lines, dict):
        raise ConfigError(f"{path} has no options; write lines such as `epochs: 10`")
    fields = fields_of(TrainConfig)
    values: dict[str, Any] = {}
    wrong = []
    for name, value in lines.items():
        try:
            if name not in fields:
                raise ConfigError(f"unknown option {name}{did_you_mean(name, fields)}")
            if value:  # a key without a value is a default
                values[name] = _parsed(fields[name], value)
        except ConfigError as error:
            wrong.append(ConfigError(f"{path}: {error}"))
    raise_together(wrong)
    return values


def _parsed(field: Field, value: Any) -> Any:
    if field.kind is bool:
        return field.check({"true": True, "false": False}.get(value, value))
    if isinstance(value, dict):
        value = [f"{name}={each}" for name, each in value.items()]
    return field.parse(value if isinstance(value, str) else ",".join(map(str, value)))


def save(path: str, values: Mapping[str, Any]) -> None:
    """Write options, and all others as comments with their help.

    Raises:
        ConfigError: The file exists already.
    """
    if os.path.lexists(path):
        raise ConfigError(f"{path} exists; remove it, or save the options under another name")
    config = TrainConfig(**values)
    stated, defaults = "", ""
    for name, field in fields_of(TrainConfig).items():
        if name in values:
            value = getattr(config, name)
            plain = value if isinstance(value, bool | int | float) else as_typed(value)
            stated += yaml.safe_dump({name: plain}, allow_unicode=True, width=10**6)
        else:
            defaults += f"# {name}:  # {field.help}\n"
    text = _HEAD.format(name=os.path.basename(path)) + stated + "\n" + _DEFAULTS + defaults
    with durable.replacing(path) as handle:
        handle.write(text.encode())
