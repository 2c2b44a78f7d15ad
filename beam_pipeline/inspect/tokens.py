"""Tokenizes texts with a user's tokenizer file, made by sentencepiece or tokenizers."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Array, Deferred, FileRef, Value
from tfrecord_dataset import extras

_EXTRA = extras.install("text")
_MOST_DETAIL = 300

_T = TypeVar("_T")
Tokenizer = Callable[[str], Sequence[int]]


def tokenize(text: str, path: str) -> Array:
    """Return the tokens of `text`, int64 [n], encoded by the library that made the file.

    They include special tokens that the file adds (a beginning, an end). Padding and truncation set
    in the file are ignored. A text on which the tokenizer fails is a RecordError.
    """
    ids = np.asarray(load(path)(text), "<i8")
    return Array(dtype="int64", shape=ids.shape, data=ids.tobytes())


def read_tokens(data: bytes, text: Callable[[bytes], Value], tokenizer: str) -> Array:
    """Return the tokens of a deferred text, which `text` parses from `data`."""
    value = text(data)
    assert isinstance(value, str)
    return tokenize(value, tokenizer)


def deferred_tokens(text: Deferred, tokenizer: str) -> Deferred:
    """Return the deferred tokens of a deferred text, in the same byte range."""
    read = functools.partial(read_tokens, text=text.read, tokenizer=tokenizer)
    return Deferred(file=text.file, read=read)


@functools.lru_cache(maxsize=4)
def load(path: str) -> Tokenizer:
    """Load a tokenizer, once per process: sentencepiece's .model or tokenizers' .json.

    Raises:
        ConfigError: The file has another format, cannot be read, or its library is not installed.
    """
    loaders = {".model": _sentencepiece, ".json": _tokenizers}
    suffix = path[path.rfind(".") :].lower()
    if suffix not in loaders:
        raise ConfigError(
            f"tokenizer {path}: give a .model file of sentencepiece or a .json file of tokenizers"
        )
    try:
        return loaders[suffix](storage.read_bytes(FileRef(path=path)))
    except RecordError as error:
        raise ConfigError(f"tokenizer {path}: {error.reason}") from error
    except ImportError as error:
        raise ConfigError(f"tokenizer {path} needs {error.name}: {_EXTRA}") from error
    except Exception as error:  # the libraries raise plain Exceptions
        raise ConfigError(f"tokenizer {path} is invalid: {error}") from error


def _sentencepiece(data: bytes) -> Tokenizer:
    import sentencepiece

    if not data:
        raise ValueError("the file is empty")  # sentencepiece would start without a model
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    encode: Tokenizer = processor.encode
    return encode


def _tokenizers(data: bytes) -> Tokenizer:
    import tokenizers

    tokenizer = _call(tokenizers.Tokenizer.from_buffer, data)
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def encode(text: str) -> Sequence[int]:
        try:
            ids: Sequence[int] = _call(tokenizer.encode, text).ids
        except _PanicError as error:
            detail = f"the tokenizer failed on a text of {len(text):,} characters: {error}"
            raise RecordError("text cannot be tokenized", detail[:_MOST_DETAIL]) from None
        return ids

    return encode


class _PanicError(Exception):
    """A panic in Rust, which is not an Exception and cannot be pickled."""


def _call(function: Callable[[_T], Any], argument: _T) -> Any:
    try:
        return function(argument)
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise _PanicError(str(error)) from None
        raise
