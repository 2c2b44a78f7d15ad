"""Parses untrusted YAML.

Aliases are refused, as they can expand without limit. The pure Python parser raises RecursionError
on deep nesting, where PyYAML's C parser crashes. All functions raise ValueError.
"""

from collections.abc import Callable
from typing import Any

import yaml


class _WithoutAliases(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(
                None, None, f"*{event.anchor:.40} is an alias; write it out", event.start_mark
            )
        return super().compose_node(parent, index)


class _Texts(_WithoutAliases):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # as PyYAML declares it


def compose_yaml(text: str) -> yaml.Node | None:
    """Parse a YAML document to its root node, with line numbers; None if it is empty."""
    return _checked(lambda: yaml.compose(text, _WithoutAliases))


def value_of(node: yaml.Node) -> Any:
    """Construct the value of a node."""
    return _checked(lambda: _WithoutAliases("").construct_document(node))


def parse_yaml(text: str, *, as_texts: bool = False) -> Any:
    """Parse the value of a YAML document; `as_texts` keeps `no` and `1.0` as written."""
    return _checked(lambda: yaml.load(text, _Texts if as_texts else _WithoutAliases))


def _checked(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
