"""What an input is: how one feature of a record gets into a model."""

import abc
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Self

from trainer.features import Feature
from trainer.tasks.learners import Learner


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the user asks of inputs.

    Attributes:
        image_size: (height, width) in pixels that images are stretched to.
        image_model: "small", or a name of `keras.applications`.
        weights: A file of weights for such a model, or None.
        lengths: By feature name: ids, numbers, words or audio samples that records are
            padded to, or cut after; without one they are padded to the batch's longest.
    """

    image_size: tuple[int, int] = (128, 128)
    image_model: str = "small"
    weights: str | None = None
    lengths: Mapping[str, int] = dataclasses.field(default_factory=dict)


class Input(abc.ABC):
    """One feature on its way: read, learned about, made ready, encoded as a vector.

    Subclasses are dataclasses. What is learned of the train split has no part in comparing
    them: equal ones take the same records.

    Attributes:
        kind: In task.json.
        name: The feature's.
    """

    __slots__ = ()

    kind: ClassVar[str]
    name: str

    @classmethod
    @abc.abstractmethod
    def from_feature(cls, feature: Feature, settings: Settings) -> Self:
        """The input that `feature` is, with nothing learned yet."""

    @property
    @abc.abstractmethod
    def in_words(self) -> str:
        """What it is, without what was learned: "an array of 8 x 8 x 1"."""

    @property
    def group(self) -> str:
        """What it is to the choice of a task."""
        return self.kind

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int | None, ...]:
        """Of one record in the model's input, as `keras.Input` takes it; None varies."""

    @property
    def dtype(self) -> str:
        """Of the model's input."""
        return "float32"

    @property
    def varies(self) -> bool:
        """Whether the length of records differs, unless they are padded or cut."""
        return False

    @property
    def pad_to(self) -> int | None:
        """The length that records are read with: padded, or cut; None for the batch's longest."""
        return None

    @property
    def padding(self) -> int | str | None:
        """What fills up shorter records; None where nothing is, or 0 is usual."""
        return None

    def learner(self) -> Learner[Self] | None:
        """What looks at the train split before training; None where nothing is to learn."""
        return None

    def remarks(self, *, own_model: bool) -> Iterable[str]:
        """What the user should know of what was learned.

        Args:
            own_model: Whether the model is the user's own function's.
        """
        del own_model
        return ()

    def host_step(self) -> Callable[[Any], Any]:
        """The function that batches go through in the input pipeline, on the CPU."""
        return lambda values: values

    def takes(self, feature: Feature, settings: Settings) -> bool:
        """Whether records with `feature` are what this was trained on."""
        return self.from_feature(feature, settings) == self

    @abc.abstractmethod
    def prepare(self, values: Any) -> Any:
        """Runs on the device: from what the pipeline yields to the model's input."""

    @abc.abstractmethod
    def encode(self, x: Any) -> Any:
        """From the model's input, a Keras tensor, to a vector a record: [b, units]."""


def learned(default: Any = ()) -> Any:
    """A dataclass's field that is learned of the train split."""
    return dataclasses.field(default=default, compare=False)
