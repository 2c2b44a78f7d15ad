"""Static type of the result of `Dataset.batches`, which TensorFlow does not declare."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol


class Batches(Protocol):
    """A `tf.data.Dataset` for type checkers; accepted by `Model.fit`, and iterable."""

    @property
    def element_spec(self) -> Any:
        """Types and shapes of an element: a tensor's spec, or a dict or tuple of specs."""

    def __iter__(self) -> Iterator[Any]: ...

    def as_numpy_iterator(self) -> Iterator[Any]:
        """Iterate over the elements as NumPy arrays."""

    def take(self, count: int) -> "Batches":
        """Return the first elements."""

    def map(self, function: Callable[..., Any], **options: Any) -> "Batches":
        """Apply a function to the elements."""

    def enumerate(self, start: int = 0) -> "Batches":
        """Return the elements as pairs with their numbers."""

    def prefetch(self, buffer_size: int) -> "Batches":
        """Prepare some elements in advance."""

    def cardinality(self) -> Any:
        """Number of elements, int64 []: -1 for endless, -2 for unknown."""
