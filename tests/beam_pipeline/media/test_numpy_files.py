"""Arrays from .npy and .npz files, compared with NumPy."""

import hashlib
import math
import struct

import hypothesis
import numpy as np
import pytest
from file_bytes import written
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from beam_pipeline.errors import RecordError
from beam_pipeline.media.numpy_files import encode_array, inspect_array


def npy(array, version=None, **options):
    return written(np.lib.format.write_array, np.asanyarray(array), version=version, **options)


def npz(save=np.savez, **arrays):
    return written(save, **arrays)


def store(data):
    """Return (array, stored bytes) of an array file."""
    array, part = inspect_array(data)
    place = array.file
    assert part == data[place.offset : place.offset + place.length]
    assert place.sha256 == hashlib.sha256(part).hexdigest()
    return array, encode_array(part, array)


def refusal(data):
    with pytest.raises(RecordError) as caught:
        inspect_array(data)
    return caught.value


numbers = st.one_of(
    st_numpy.boolean_dtypes(),
    st_numpy.integer_dtypes(endianness="<"),
    st_numpy.unsigned_integer_dtypes(endianness="<"),
    st_numpy.floating_dtypes(endianness="<", sizes=(16, 32, 64)),
)
shapes = st_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@hypothesis.settings(deadline=None)
@hypothesis.given(st_numpy.arrays(numbers, shapes), st.sampled_from([npy, "npz", "compressed"]))
def test_values_are_numpys(array, container):
    save = np.savez_compressed if container == "compressed" else np.savez
    data = npy(array) if container is npy else npz(save, array=array)
    found, stored = store(data)

    assert stored == array.tobytes()
    assert (found.dtype, found.shape) == (array.dtype.name, array.shape)
    assert found.conversions == (("compressed",) if container == "compressed" else ())
    seen = array[~np.isnan(array)] if array.dtype.kind == "f" else array
    assert found.minimum == (seen.min() if seen.size else None)
    assert found.maximum == (seen.max() if seen.size else None)
    assert {type(found.minimum), type(found.maximum)} <= {int, float, type(None)}


ROWS = np.arange(12, dtype="<f4").reshape(3, 4)


def test_one_row_has_one_order():
    assert store(npy(np.asfortranarray(ROWS[:1])))[1] == ROWS[:1].tobytes()


@pytest.mark.parametrize(
    ("array", "remedy"),
    [
        pytest.param(ROWS.T, "Fortran order; save numpy.ascontiguousarray(array)", id="fortran"),
        (ROWS.astype(">f4"), "big-endian values (>f4); save array.astype('<f4')"),  # big-endian
    ],
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_other_orders_are_refused_with_the_remedy(array, remedy, save):
    for data in (npy(array), npz(save, x=array)):
        error = refusal(data)
        assert (error.reason, error.detail[-len(remedy) :]) == ("unsupported array", remedy)


def header_of(text, version=b"\1\0"):
    size = struct.pack("<H" if version == b"\1\0" else "<I", len(text))
    return b"\x93NUMPY" + version + size + text.encode()


def plain(descr="'<f4'", shape="(2,)", order="False"):
    return header_of(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}")


def pickled(array):
    return npy(array, allow_pickle=True)


OF_OBJECTS = ("pickled array", "Python objects")


@pytest.mark.parametrize(
    ("data", "reason", "detail"),
    [
        pytest.param(b"", "empty file", "no bytes", id="empty"),
        pytest.param(b"1,2,3\n4,5,6\n", "not an array", "1,2,3", id="text"),
        pytest.param(b"\x93NUM", "not an array", "NUM", id="half of the magic"),
        pytest.param(npy(ROWS)[:60], "truncated array", "header", id="half a header"),
        pytest.param(npy(ROWS)[:-5], "truncated array", "5 of 48 bytes", id="values are missing"),
        pytest.param(npy(ROWS) + npy(ROWS), "damaged array", "176 bytes follow", id="saved twice"),
        pytest.param(pickled(np.array([{}, None], object)), *OF_OBJECTS, id="objects"),
        pytest.param(pickled(np.zeros(2, [("a", "i4"), ("b", "O")])), *OF_OBJECTS, id="a field"),
        (npy(np.zeros(2, [("a", "i4"), ("b", "f4")])), "unsupported array", "structured"),
        pytest.param(npy(np.array(["a"])), "unsupported array", "<U1", id="text values"),
        pytest.param(npy(np.array([1j])), "unsupported array", "complex128", id="complex"),
        pytest.param(npy(np.zeros(2, "M8[s]")), "unsupported array", "datetime64", id="times"),
        pytest.param(npy(np.zeros(2, np.longdouble)), "unsupported array", "float", id="80 bits"),
        pytest.param(header_of("{}", b"\4\0"), "unsupported array", "version 4.0", id="version 4"),
        pytest.param(header_of("import os"), "damaged array", "header", id="a program"),
        pytest.param(header_of("(" * 9000), "damaged array", "header", id="nested"),
        pytest.param(header_of(" " * 60_000), "damaged array", "header", id="long header"),
        (header_of("{}", b"\2\0")[:10] + b"\xff\xff", "truncated array", "header"),
        pytest.param(plain(shape="(-2,)"), "damaged array", "(-2,)", id="negative shape"),
        pytest.param(plain(shape="[2]"), "damaged array", "shape", id="shape is a list"),
        pytest.param(plain(descr="'what'"), "damaged array", "descr", id="unknown type"),
        (plain(shape="(9999999999,9999)"), "array too large", "bytes of values"),
        pytest.param(plain(descr="'|b1'") + b"\1\2", "damaged array", "bools", id="a bool of 2"),
        pytest.param(npz(), "not an array", "PK", id="empty npz"),
        pytest.param(npz(x=ROWS, y=ROWS), "unsupported array", "(x, y)", id="npz of two"),
        pytest.param(npz(x=np.array([{}], object)), *OF_OBJECTS, id="npz of objects"),
        pytest.param(npz(x=ROWS)[:100], "damaged archive", "index", id="cut npz"),
    ],
)
def test_not_a_usable_array(data, reason, detail):
    refused = refusal(data)
    assert refused.reason == reason
    assert detail in refused.detail


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([], (None, None, None, 0), id="no values"),
        pytest.param([2.0, 1.0], (1.0, 2.0, None, 0), id="finite"),
        pytest.param([np.nan, np.nan], (None, None, None, 2), id="NaN only"),
        pytest.param([np.nan, 2.0, 1.0], (1.0, 2.0, None, 1), id="one NaN"),
        pytest.param([np.nan, 2, -np.inf, 1], (-math.inf, 2.0, (1.0, 2.0), 2), id="infinite"),
        pytest.param([np.inf], (math.inf, math.inf, (None, None), 1), id="infinite only"),
    ],
)
def test_the_range_of_values(values, expected):
    array, _ = inspect_array(npy(np.array(values, np.float32)))
    assert (array.minimum, array.maximum, array.finite_range, array.not_finite) == expected
