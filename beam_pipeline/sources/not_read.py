"""Forms in which data lies that nothing here reads: told by name, with what helps."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.paths import suffix
from beam_pipeline.sources.tree import head

_LOOKED_INTO = 20
_DOCS = "docs/archives-and-arrays.md#what-is-not-read"


class _Form(NamedTuple):
    what: str
    remedy: str
    is_called: Callable[[str], bool]
    begins: re.Pattern[bytes]


def _suffixes(*suffixes: str) -> Callable[[str], bool]:
    return lambda path: suffix(path) in suffixes


def _may_be_pickled(path: str) -> bool:
    """CIFAR's are called data_batch_1, batches.meta, train, test."""
    name = path.rpartition("/")[2]
    return suffix(path) in ("pkl", "pickle", "pt", "pth", "meta", "") or "batch" in name


_FORMS = (
    _Form(
        "a pickle, which may run any program when it is read",
        "load it where you trust it, save its arrays by numpy.savez, and give the .npz",
        _may_be_pickled,
        re.compile(rb"\x80[\x02-\x05]"),
    ),
    _Form(
        "a file of PyTorch, a pickle in a zip, which may run any program when it is read",
        "load it where you trust it, save its arrays by numpy.savez, and give the .npz",
        _suffixes("pt", "pth", "pkl"),
        re.compile(rb"PK\x03\x04"),
    ),
    _Form(
        "an LMDB, whose values are whatever its writer made of them",
        "write them as files in folders of their classes, as a .jsonl table, or as a tar",
        _suffixes("mdb", "lmdb"),
        re.compile(rb".{16}\xde\xc0\xef\xbe", re.DOTALL),
    ),
)


def refuse_not_read(root: str, files: Sequence[str]) -> None:
    """Raises ConfigError where files of a known form lie where no layout was found.

    Args:
        root: What the paths are relative to; "" where they are not.
        files: The paths.
    """
    likely = [path for path in files if any(form.is_called(path) for form in _FORMS)]
    for path in likely[:_LOOKED_INTO]:
        whole = storage.join(root, path) if root else path
        start = head(whole)
        for form in _FORMS:
            if form.is_called(path) and form.begins.match(start):
                raise ConfigError(
                    f"{whole} is {form.what}, and is not read: {form.remedy} ({_DOCS})"
                )
