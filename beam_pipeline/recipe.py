"""Recipes: what a build reads and how, as a YAML file that people complete, edit and keep.

    plan INPUT --save recipe.yaml           writes what was decided, and the lines that are open
    build recipe.yaml --output DATA_DIR     builds it

Keys are the fields of a BuildConfig. Paths are relative to the recipe's folder. A line `key: "?"`
is open: the data does not tell its value.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from beam_pipeline.build_option import BuildOption
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.schema.declaration import MAX_BYTES, parse_schema
from beam_pipeline.schema.yaml_values import compose_yaml, value_of
from tfrecord_dataset.errors import did_you_mean, raise_together
from tfrecord_dataset.options import Field, all_options, arguments_of, parts_of

OPEN = "?"
_NULL = "tag:yaml.org,2002:null"
# Keys of YOLO's data.yaml, which is an input.
_OF_YOLO = re.compile(r"^(names|train|val)\s*:", re.MULTILINE)


def is_recipe(path: str) -> bool:
    """Whether the input at `path` is a recipe: a YAML file that is not YOLO's data.yaml."""
    if not path.lower().endswith((".yaml", ".yml")):
        return False
    try:
        return not _OF_YOLO.search(storage.read_text(storage.absolute(path), MAX_BYTES))
    except RecordError:
        return True


def load(path: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The arguments of a BuildConfig that a recipe states.

        >>> beam_pipeline.BuildConfig(output="data", **beam_pipeline.recipe.load("recipe.yaml"))

    Args:
        path: Of the file.
        given: Values that win over the recipe's, by option: "seed", "image.size".

    Raises:
        ConfigError: The file cannot be read, has an unknown key, a wrong value or an open line;
            all of these are named.
    """
    given = given or {}
    values: dict[str, Any] = {}
    wrong: list[ConfigError] = []
    seen: set[str] = set()
    folder = storage.absolute(path).rpartition("/")[0]
    for line in _lines(path):
        place = f"{path}, line {line.number}"
        try:
            if line.key in seen:
                raise ConfigError(f"{line.key} is there twice; remove one of the lines")
            seen.add(line.key)
            if line.key not in given:
                values |= _stated(line, folder)
        except ConfigError as error:
            wrong.append(ConfigError(f"{place}: {error}"))
    raise_together(wrong)
    return arguments_of(BuildConfig, {**values, **given})


class _Line(NamedTuple):
    key: str
    value: yaml.Node
    number: int


def _lines(path: str) -> Iterator[_Line]:
    """The options that a recipe names, those of parts as "image.size"."""
    try:
        root = compose_yaml(storage.read_text(storage.absolute(path), MAX_BYTES))
    except (RecordError, ValueError) as error:
        raise ConfigError(f"the recipe {path} cannot be read: {error}") from error
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"the recipe {path} is no mapping; write lines such as `seed: 1`")
    yield from _lines_of(root)


def _lines_of(node: yaml.MappingNode | None, prefix: str = "") -> Iterator[_Line]:
    for key, value in node.value if node else ():
        name = f"{prefix}{key.value}"
        if name in parts_of(BuildConfig) and isinstance(value, yaml.MappingNode):
            yield from _lines_of(value, f"{name}.")
        else:
            yield _Line(name, value, key.start_mark.line + 1)


def _stated(line: _Line, folder: str) -> dict[str, Any]:
    """The value of a line by its key; none of a key without a value."""
    options = all_options(BuildConfig)
    if line.key not in options:
        raise ConfigError(f"there is no option {line.key}{did_you_mean(line.key, options)}")
    if line.value.tag == _NULL:
        return {}
    if isinstance(line.value, yaml.ScalarNode) and line.value.value == OPEN:
        raise ConfigError(f"{line.key} is open; replace {OPEN} with its value")
    return {line.key: _value(options[line.key], line.value, folder)}


def _value(field: Field, node: yaml.Node, folder: str) -> Any:
    """The value of an option: a text is read as on the command line.

    Texts are taken as they are written, so that `no` and `1.0` are names, too.
    """
    if isinstance(node, yaml.ScalarNode):
        if field.kind is bool:
            return field.check(value_of(node))
        return field.parse(_placed(field, node.value, folder))
    if isinstance(node, yaml.SequenceNode) and all(
        isinstance(each, yaml.ScalarNode) for each in node.value
    ):
        return field.check([_placed(field, each.value, folder) for each in node.value])
    value = value_of(node)
    return field.check(parse_schema(value) if field.name == "schema" else value)


def _placed(field: Field, text: str, folder: str) -> str:
    """A text of a recipe in `folder`, where it is a path that starts there."""
    if not (isinstance(field.option, BuildOption) and field.option.is_path) or text[:1] in (
        "",
        "~",
    ):
        return text
    split = re.match(r"\w+=" if field.name == "split_list" else "", text)
    start = split[0] if split else ""
    path = storage.join(folder, text[len(start) :])
    if field.name == "classes" and not storage.exists(path):  # names
        return text
    return start + path
