"""Recipes: the input and options of a build, as a YAML file for people to complete and edit.

    plan INPUT --save recipe.yaml           writes what was decided, and the lines that are open
    build recipe.yaml --output DATA_DIR     builds it

Keys are the fields of a BuildConfig. Paths are relative to the recipe's folder, or to the input
if they begin with `INPUT/`. A line `key: "?"` is open: the data does not determine its value.
"""

import functools
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from beam_pipeline.build_options import HEADINGS, BuildOption
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.problems import Problem
from beam_pipeline.schema.declaration import MAX_BYTES, parse_schema
from beam_pipeline.schema.yaml_values import compose_yaml, value_of
from tfrecord_dataset.errors import did_you_mean, raise_together
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.options import Field, all_options, arguments_of, fields_of, parts_of

FILE = "recipe.yaml"
OPEN = "?"
# The value "?" itself, with one more backslash than it has.
_NO_OPEN = re.compile(r"\\+\?")
_BELOW_INPUT = "INPUT/"
_NULL = "tag:yaml.org,2002:null"
# Keys of YOLO's data.yaml, which is an input.
_OF_YOLO = re.compile(r"^(names|train|val)\s*:", re.MULTILINE)
_Placed = Callable[[Field, str], str]
# Each build states these itself.
_OF_ONE_BUILD = frozenset({"output", "overwrite", "threads", "no_report"})


def is_recipe(path: str) -> bool:
    """Whether the input at `path` is a recipe: a YAML file that is not YOLO's data.yaml."""
    if not path.lower().endswith((".yaml", ".yml")):
        return False
    try:
        return not _OF_YOLO.search(storage.read_text(storage.absolute(path), MAX_BYTES))
    except RecordError:
        return True


def load(path: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Load the arguments of a BuildConfig from a recipe.

        >>> beam_pipeline.BuildConfig(output="data", **beam_pipeline.recipe.load("recipe.yaml"))

    Args:
        given: Values that override the recipe's, by option: "seed", "image.size".

    Raises:
        ConfigError: The file cannot be read, or has unknown keys, invalid values or open lines;
            the message names all of them.
    """
    given = given or {}
    lines = [*_lines(path)]
    folder = os.path.dirname(storage.absolute(path))
    stated = next((line.value.value for line in lines if line.key == "input"), "")
    stated = stated if isinstance(stated, str) else ""  # a list is refused below
    root = given.get("input") or storage.join(folder, stated)
    placed = functools.partial(_placed, folder=folder, root=root)
    values: dict[str, Any] = {}
    wrong: list[ConfigError] = []
    seen: set[str] = set()
    for line in lines:
        try:
            if line.key in seen:
                raise ConfigError(f"{line.key} is stated twice; remove one of the lines")
            seen.add(line.key)
            if line.key not in given:
                values |= _stated(line, placed)
        except ConfigError as error:
            wrong.append(ConfigError(f"{path}, line {line.number}: {error}"))
    raise_together(wrong)
    return arguments_of(BuildConfig, {**values, **given})


class _Line(NamedTuple):
    key: str
    value: yaml.Node
    number: int


def _lines(path: str) -> Iterator[_Line]:
    """Yield the options in a recipe; nested ones are named like "image.size"."""
    try:
        root = compose_yaml(storage.read_text(storage.absolute(path), MAX_BYTES))
    except (RecordError, ValueError) as error:
        raise ConfigError(f"the recipe {path} cannot be read: {error}") from error
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"the recipe {path} is not a mapping; write lines such as `seed: 1`")
    yield from _lines_of(root)


def _lines_of(node: yaml.MappingNode | None, prefix: str = "") -> Iterator[_Line]:
    for key, value in node.value if node else ():
        name = f"{prefix}{key.value}"
        if name in parts_of(BuildConfig) and isinstance(value, yaml.MappingNode):
            yield from _lines_of(value, f"{name}.")
        else:
            yield _Line(name, value, key.start_mark.line + 1)


def _stated(line: _Line, placed: _Placed) -> dict[str, Any]:
    """Return a line's value by its key; nothing for a key without a value."""
    options = all_options(BuildConfig)
    if line.key in parts_of(BuildConfig):
        return _without_value(line)
    if line.key not in options:
        raise ConfigError(f"unknown option {line.key}{did_you_mean(line.key, options)}")
    field = options[line.key]
    if line.value.tag == _NULL:
        return {}
    if isinstance(line.value, yaml.ScalarNode) and line.value.value == OPEN:
        other = "" if field.option.recipe_only else f", or pass {field.flag}"
        raise ConfigError(f"{line.key} is open; replace {OPEN} with its value{other}")
    return {line.key: _value(field, line.value, placed)}


def _without_value(line: _Line) -> dict[str, Any]:
    """Return nothing for `image:` without options; raise ConfigError for `image: 3`."""
    if line.value.tag == _NULL:
        return {}
    option = next(iter(fields_of(parts_of(BuildConfig)[line.key])))
    raise ConfigError(
        f"{line.key} has a value where its options belong; write `{line.key}: {{{option}: …}}`, or "
        f"`{line.key}_column: …` for the name of a column"
    )


def _value(field: Field, node: yaml.Node, placed: _Placed) -> Any:
    """Parse the value of an option; a text is parsed as on the command line.

    Texts are kept as written, so `no` and `1.0` can be names.
    """
    if isinstance(node, yaml.ScalarNode):
        if field.kind is bool:
            return field.check(value_of(node))
        text = node.value[1:] if _NO_OPEN.fullmatch(node.value) else node.value
        return field.parse(placed(field, text))
    if isinstance(node, yaml.SequenceNode) and all(
        isinstance(each, yaml.ScalarNode) for each in node.value
    ):
        return field.check([placed(field, each.value) for each in node.value])
    value = value_of(node)
    return field.check(parse_schema(value) if field.name == "schema" else value)


def _placed(field: Field, text: str, folder: str, root: str) -> str:
    """Make an option's path absolute, from the recipe's folder or the input; keep other texts."""
    if not _is_path(field) or text[:1] in ("", "~"):
        return text
    split, path = _split_and_path(field, text)
    below_input = path.startswith(_BELOW_INPUT)
    base = root if below_input else folder
    placed = storage.join(base, path[len(_BELOW_INPUT) :] if below_input else path)
    if field.name == "classes" and not storage.exists(placed):  # names
        return text
    return split + placed


def _is_path(field: Field) -> bool:
    return isinstance(field.option, BuildOption) and field.option.is_path


def _split_and_path(field: Field, text: str) -> tuple[str, str]:
    """Split "val=a.txt" of `split_list` into ("val=", "a.txt"); return ("", text) otherwise."""
    split = re.match(r"\w+=", text) if field.name == "split_list" else None
    return (split[0], text[split.end() :]) if split else ("", text)


def save(
    path: str,
    config: BuildConfig,
    *,
    understood: Sequence[str] = (),
    problem: Problem | ConfigError | None = None,
) -> None:
    """Write the recipe of a build, and a JSON Schema for completion in editors.

    Args:
        understood: Lines that describe how the input was read.
        problem: An open question or error; the line of its option is open.

    Raises:
        ConfigError: The file exists already.
    """
    path = storage.absolute(path)
    if storage.exists(path):
        raise ConfigError(f"{path} exists; remove it, or save the recipe under another name")
    folder, name = os.path.split(path)
    schema = f"{name.removesuffix('.yaml')}.schema.json"
    head = [
        f"yaml-language-server: $schema={schema}",
        f"Built by `beam-tfrecords build {name} --output DATA_DIR`.",
        "Lines behind a # are defaults.",
        *(["The input is read as", *(f"  {line}" for line in understood)] if understood else []),
        *_open_lines(problem),
    ]
    near = (folder, os.getcwd())
    values = {
        name: _with_paths(name, value, lambda each: _relative(each, folder, near))
        for name, value in _decided(config).items()
    }
    opened: dict[str, Sequence[str]] = {}
    if isinstance(problem, Problem) and problem.option:
        opened = {problem.option: problem.choices}
    storage.write_bytes(path, _text(head, values, opened).encode())
    text = json.dumps(json_schema(opened), indent=1, ensure_ascii=False)
    storage.write_bytes(storage.join(folder, schema), text.encode())


def _open_lines(problem: Problem | ConfigError | None) -> Iterator[str]:
    """Describe an open question or error, and the lines that each of its answers needs."""
    if problem is None:
        return
    if not isinstance(problem, Problem) or not problem.readings:
        yield f"Open: {problem}"
        return
    yield f"Open: {problem.sentence}; set one of"
    for reading in problem.readings:
        yield f"  to {reading.effect}:"
        for name, values in reading.options.items():
            field = all_options(BuildConfig)[name]
            one = field.kind is bool or values[0]
            yield f"    {name}: {_yaml([*values] if field.option.may_repeat else one)}"


def of_dataset(config: BuildConfig) -> str:
    """Return the recipe stored in a dataset, without paths of this machine.

    Paths below the input begin with `INPUT/`; the input and other paths are open.
    """
    options = all_options(BuildConfig)
    values = {"input": OPEN} | {
        name: _with_paths(name, value, lambda each: _below_input(each, config.input))
        for name, value in _decided(config).items()
        if name != "input"
    }
    paths = {
        name: values[name] for name, field in options.items() if name in values and _is_path(field)
    }
    opened = {name: () for name, value in paths.items() if value == OPEN or OPEN in [*value]}
    head = [
        "What built this dataset; to build it again:",
        "`beam-tfrecords build recipe.yaml --input INPUT --output DATA_DIR`.",
        "Lines behind a # are defaults.",
    ]
    return _text(head, values, opened)


def _decided(config: BuildConfig) -> dict[str, Any]:
    """Return the values that differ from the defaults, by option."""
    values = {}
    for name, field in all_options(BuildConfig).items():
        part, _, inner = name.rpartition(".")
        value = getattr(getattr(config, part) if part else config, inner)
        if name not in _OF_ONE_BUILD and value != field.default:
            values[name] = value
    return values


def _with_paths(name: str, value: Any, placed: Any) -> Any:
    """Convert a value for YAML, its paths with `placed`; writes classes and a schema in full."""
    field = all_options(BuildConfig)[name]
    is_path = _is_path(field) and name not in ("classes", "schema")
    match value:
        case ImageSize():
            return str(value)
        case tuple() | list():
            return [_with_paths(name, each, placed) for each in value]
        case Mapping():
            return dict(value)
        case Feature():
            return value.to_json()
        case str() if is_path:
            split, path = _split_and_path(field, value)
            shown = placed(path)
            return shown if shown == OPEN else split + shown
    return value


def _relative(path: str, folder: str, near: Sequence[str]) -> str:
    """Make a path relative to a recipe's folder if it is below one of the folders `near`."""
    if storage.is_remote(path) or storage.is_remote(folder):
        return path
    is_near = any(os.path.commonpath([path, each]) == each for each in near)
    return os.path.relpath(path, folder) if is_near else path


def _below_input(path: str, root: str) -> str:
    inside = path.startswith(f"{root}/")
    return _BELOW_INPUT + path[len(root) + 1 :] if inside else OPEN


def _text(
    head: Sequence[str], values: Mapping[str, Any], opened: Mapping[str, Sequence[str]]
) -> str:
    """Render all options as YAML lines: set ones, open ones, and defaults as comments."""
    lines = [f"# {line}" for line in head]
    for title, fields in _sections().items():
        lines += ["", f"## {title}"]
        for name, field in fields.items():
            part, _, key = name.rpartition(".")
            if part and f"{part}:" not in lines:
                lines.append(f"{part}:")
            indent = "  " if part else ""
            comment = field.option.help
            if name in opened:
                comment = f"one of: {', '.join(opened[name])}" if opened[name] else comment
                lines.append(f'{indent}{key}: "{OPEN}"  # {comment}')
            elif name in values:
                lines += _stated_lines(f"{indent}{key}:", values[name], comment)
            else:
                default = "" if field.default in (None, "", ()) else _yaml(field.default)
                lines.append(f"{indent}# {key}: {default}".rstrip() + f"  # {comment}")
    return "\n".join(lines) + "\n"


def _sections() -> Mapping[str, Mapping[str, Field]]:
    """Return a recipe's options by help heading; those of one part stay together."""
    sections: dict[str, dict[str, Field]] = {title: {} for title in HEADINGS}
    title = HEADINGS[0]
    for name, field in fields_of(BuildConfig).items():
        title = field.group or title
        if name not in _OF_ONE_BUILD:
            sections[title][name] = field
    for part, kind in parts_of(BuildConfig).items():
        fields = fields_of(kind)
        title = next(field.group for field in fields.values() if field.group)
        sections[title] |= {f"{part}.{name}": field for name, field in fields.items()}
    return sections


def _stated_lines(start: str, value: Any, comment: str) -> Iterator[str]:
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        yield f"{start}  # {comment}"
        for each in value:
            yield f"  - {_yaml(each)}"
    else:
        if isinstance(value, str) and _NO_OPEN.fullmatch(f"\\{value}"):
            value = f"\\{value}"
        yield f"{start} {_yaml(value)}  # {comment}"


def _yaml(value: Any) -> str:
    """Render a value as one line of YAML."""
    text: str = yaml.safe_dump(
        [value], default_flow_style=True, sort_keys=False, allow_unicode=True, width=math.inf
    )
    return text.strip()[1:-1]


def json_schema(choices: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """Return the JSON Schema of recipes, given the choices of open options."""
    properties: dict[str, Any] = {}
    for name, field in all_options(BuildConfig).items():
        part, _, key = name.rpartition(".")
        nested = {"type": ["object", "null"], "additionalProperties": False, "properties": {}}
        own = properties.setdefault(part, nested)["properties"] if part else properties
        own[key] = _schema_of(field, (choices or {}).get(name, ()))
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A recipe of beam-tfrecords",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


_TYPES: Mapping[Any, list[str]] = {
    bool: ["boolean"],
    int: ["integer"],
    float: ["number"],
    str: ["string"],
    ImageSize: ["integer", "string"],
    tuple[str, ...]: ["array", "string"],
}


def _schema_of(field: Field, choices: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of an option."""
    option = field.option
    schema: dict[str, Any] = {"description": option.help}
    if types := _TYPES.get(field.kind):
        schema["type"] = [*dict.fromkeys([*types, *(["string"] if option.parse else [])]), "null"]
    if allowed := [*(choices or field.choices)]:
        schema["enum"] = allowed
    bounds = {
        "minimum": option.least,
        "maximum": option.most,
        "exclusiveMinimum": option.above,
        "exclusiveMaximum": option.below,
    }
    return schema | {name: bound for name, bound in bounds.items() if math.isfinite(bound)}
