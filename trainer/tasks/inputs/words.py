"""Words of a text, or a sequence of strings, as inputs."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.errors import ConfigError, DatasetDamagedError
from trainer.options.train import TrainConfig
from trainer.tasks import sequence_models
from trainer.tasks.inputs.base import STRINGS, VaryingInput, not_compared
from trainer.tasks.statistics import LEAVE_OUT, Statistic, not_utf8

_MAX_WORDS = 20_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Words(VaryingInput):
    """The words of a text, or the strings of a sequence, as numbers.

    A text (`is_text`) is converted to lower case, stripped of punctuation and split at white space
    (`keras.layers.TextVectorization`); the strings of a sequence are used unchanged. Models take
    int64 [length]: 0 is padding, 1 an unknown word, and numbers from 2 are the `vocabulary`, the
    most frequent words of the train split in order of frequency.
    """

    kind: ClassVar[str] = "words"
    dtype: ClassVar[str] = "int64"

    name: str
    is_text: bool
    length: int | None = None
    vocabulary: tuple[str, ...] = not_compared()

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        is_list = feature.kind == "sequence" and len(feature.shape) == 1
        is_string = feature.kind == "scalar" and feature.dtype == "string"
        return feature.kind == "text" or is_string or (is_list and feature.dtype in STRINGS)

    @classmethod
    def from_feature(cls, feature: Feature, options: TrainConfig) -> Self:
        return cls(
            name=feature.name,
            is_text=feature.kind != "sequence",
            length=options.pad.get(feature.name),
        )

    @property
    def group(self) -> str:
        return "text" if self.is_text else "sequence"

    @property
    def suffixes(self) -> tuple[str, ...]:  # type: ignore[override]
        return (".txt",) if self.is_text else ()

    def of_file(self, file: Path) -> str:
        try:
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise DatasetDamagedError(f"{file} is not UTF-8: {error}; save it as UTF-8") from error

    @property
    def pad_to(self) -> int | None:
        return None if self.is_text else self.length

    @property
    def padding(self) -> str | None:
        return None if self.is_text else ""

    @property
    def num_tokens(self) -> int:
        """Number of tokens: padding, the unknown word, and the vocabulary."""
        return len(self.vocabulary) + 2

    def statistic(self) -> Statistic:
        return _Frequencies(self.name, self.layer())

    def host_step(self) -> keras.Layer:
        return self.layer(list(self.vocabulary) or None)

    def layer(self, vocabulary: list[str] | None = None) -> keras.Layer:
        """Return the layer from strings, [b] (texts) or [b, n], to numbers, [b, length]."""
        if not self.is_text:
            return keras.layers.StringLookup(
                max_tokens=_MAX_WORDS, mask_token="", vocabulary=vocabulary
            )
        return keras.layers.TextVectorization(
            max_tokens=_MAX_WORDS, vocabulary=vocabulary, output_sequence_length=self.length
        )

    def prepare(self, values: Any) -> Any:
        return values

    def encode(self, x: Any) -> Any:
        return sequence_models.encode_tokens(x, self.num_tokens)


class _Frequencies:
    """Word frequencies, with words split by Keras's own layers."""

    def __init__(self, name: str, layer: keras.Layer) -> None:
        self._name = name
        self._layer = layer

    def take(self, facts: Mapping[str, Any]) -> bool:
        return False  # statistics.json has no words as Keras's layers split them

    def add(self, values: Any) -> None:
        self._layer.update_state(tf.constant(values, tf.string))

    def result(self) -> dict[str, Any]:
        self._layer.finalize_state()
        try:
            words = tuple(map(str, self._layer.get_vocabulary(include_special_tokens=False)))
        except UnicodeDecodeError as error:
            raise ConfigError(not_utf8(self._name, error, LEAVE_OUT)) from error
        if not words:
            raise ConfigError(
                f"{self._name!r} has no word in the train split; leave it out by --inputs"
            )
        return {"vocabulary": words}
