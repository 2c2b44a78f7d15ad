"""The type of what `Dataset.batches` returns, which TensorFlow does not declare."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol


class Batches(Protocol):
    """A `tf.data.Dataset`, as type checkers see it; `Model.fit` takes it, and so does any loop."""

    @property
    def element_spec(self) -> Any:
        """The types and shapes of an element: a tensor's spec, or a dict or tuple of them."""

    def __iter__(self) -> Iterator[Any]: ...

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements as NumPy arrays."""

    def take(self, count: int) -> "Batches":
        """The first elements."""

    def map(self, function: Callable[..., Any], **options: Any) -> "Batches":
        """The elements that a function makes of these."""

    def enumerate(self, start: int = 0) -> "Batches":
        """The elements, each after its number."""

    def prefetch(self, buffer_size: int) -> "Batches":
        """The elements, some of which are made ahead."""

    def cardinality(self) -> Any:
        """The number of elements, int64 []: -1 endless, -2 unknown."""
