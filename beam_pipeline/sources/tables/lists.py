"""Lists of numbers or texts in a manifest become arrays and tuples."""

import itertools
from typing import Any

import numpy

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Array
from beam_pipeline.sources.malformed import malformed

# What NumPy can hold; the trainer reads tensors of so many axes, too.
_MAX_AXES = 32


def flatten(value: list[Any]) -> tuple[list[Any], tuple[int, ...]]:
    """The values of nested lists in C order, and the lists' sizes by axis.

    Raises:
        RecordError: "malformed annotation": lists of one axis differ in length, or hold lists
            and other values, or there are too many axes.
    """
    flat, shape = value, [len(value)]
    while list in (types := set(map(type, flat))):
        sizes = set(map(len, flat)) if types == {list} else set()
        if len(sizes) != 1 or len(shape) == _MAX_AXES:
            raise malformed(
                f"{str(value)[:100]} holds lists that differ in length or depth; make them alike"
            )
        shape.append(sizes.pop())
        flat = list(itertools.chain.from_iterable(flat))
    return flat, tuple(shape)


def number_array(value: list[Any], dtype: str, inner: tuple[int, ...] = ()) -> Array:
    """The numbers of nested lists.

    Args:
        value: The lists.
        dtype: "int64" or "float32".
        inner: What an empty list would hold: the sizes of the other axes, in other rows.

    Raises:
        RecordError: As `flatten`; "missing value": a null; "value out of range": a number that
            the type cannot hold; "unsupported column": text, or an object.
    """
    flat, shape = flatten(value)
    if None in flat:
        raise RecordError("missing value", f"{str(value)[:100]} has null among its numbers")
    if not {int, float, bool}.issuperset(map(type, flat)):
        raise RecordError(
            "unsupported column",
            f"{str(value)[:100]} holds something other than numbers, unlike other rows",
        )
    return array_of(flat, shape if flat or not inner else (0, *inner), dtype)


def array_of(flat: list[Any], shape: tuple[int, ...], dtype: str) -> Array:
    """An array of these numbers, as little-endian bytes.

    Args:
        flat: Numbers, in C order.
        shape: Their sizes by axis.
        dtype: NumPy's name of a type of numbers.

    Raises:
        RecordError: "value out of range": a number that the type cannot hold; "malformed
            annotation": an array without values along an axis that is not the first.
    """
    if 0 in shape[1:]:
        raise malformed("there are empty lists in the list")
    wanted = numpy.dtype(dtype).newbyteorder("<")
    widest = {"f": "float64", "u": "uint64"}.get(wanted.kind, "int64")
    try:
        wide = numpy.array(flat, dtype=widest)
        with numpy.errstate(over="ignore"):
            values = wide.astype(wanted)
    except OverflowError:
        fits = False
    else:
        lost = numpy.isinf(values) != numpy.isinf(wide) if wanted.kind == "f" else values != wide
        fits = not lost.any()
    if not fits:
        raise RecordError(
            "value out of range", f"{str(flat)[:100]} holds numbers beyond the range of {dtype}"
        )
    return Array(dtype=dtype, shape=shape, data=values.tobytes())


def listed_texts(value: list[Any]) -> tuple[str, ...]:
    """The texts of a list, with numbers as text and a null as "".

    Raises:
        RecordError: "unsupported column": it holds lists or objects.
    """
    if nested := [each for each in value if isinstance(each, list | dict)]:
        raise RecordError(
            "unsupported column", f"a list of texts holds {str(nested[0])[:100]}, which is not one"
        )
    return tuple("" if each is None else str(each) for each in value)
