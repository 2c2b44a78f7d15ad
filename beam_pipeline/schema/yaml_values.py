"""YAML that nobody has checked.

It is bounded in size, and has no aliases, which stand for any number. PyYAML's own C parser crashes
on deep nesting; the one in Python raises RecursionError.
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
    """The root of a YAML document's nodes, which know their lines; None if it is empty.

    Raises:
        ValueError: It is not YAML, is nested too deep, or has aliases.
    """
    return _checked(lambda: yaml.compose(text, _WithoutAliases))


def value_of(node: yaml.Node) -> Any:
    """The value that a node stands for.

    Raises:
        ValueError: It is no plain value.
    """
    return _checked(lambda: _WithoutAliases("").construct_document(node))


def parse_yaml(text: str, *, as_texts: bool = False) -> Any:
    """The value of a YAML document.

    Args:
        text: The document.
        as_texts: Whether scalars stay as they are written, as `no` and `1.0`.

    Raises:
        ValueError: It is not YAML, is nested too deep, or has aliases.
    """
    return _checked(lambda: yaml.load(text, _Texts if as_texts else _WithoutAliases))


def _checked(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
