"""numpy arrays as the server sends and takes them: a dtype's name, a shape, and bytes."""

import numpy as np

from .errors import HostError

# By the server's names. bfloat16 travels as its bits, since numpy has no such type; see Bits.
NUMPY_TYPES = {
    name: np.dtype(name)
    for name in (
        "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
    )
}
NAMES = {dtype: name for name, dtype in NUMPY_TYPES.items()}
LENGTHS = np.dtype("<u4")


class Bits:
    """A tensor of a type that numpy lacks, as an array of its bits; `dtype` is the server's name of the type."""

    def __init__(self, array, dtype="bfloat16"):
        self.array = array
        self.dtype = dtype


def from_bytes(dtype, shape, data):
    """The array behind what came: numbers view `data`, `bytes` become an array of Python's bytes."""
    if dtype == "bytes":
        return _strings(data, shape)
    if dtype == "bfloat16":
        return Bits(np.frombuffer(data, np.uint16).reshape(shape))
    return np.frombuffer(data, NUMPY_TYPES[dtype]).reshape(shape)


def to_bytes(name, value):
    """dtype, shape and bytes-like data of what a model gave under a name; refuses what no tensor can carry."""
    if type(value) is np.ndarray and value.flags.c_contiguous:
        dtype = NAMES.get(value.dtype)
        if dtype is not None:
            return dtype, value.shape, value
    if isinstance(value, Bits):
        return value.dtype, value.array.shape, np.ascontiguousarray(value.array)
    array = to_array(name, value)
    if array.dtype.kind in "OSU":
        return _from_strings(name, array)
    dtype = NAMES.get(array.dtype.newbyteorder("="))
    if dtype is None:
        raise HostError("internal", f'Output "{name}" is of numpy\'s type {array.dtype}, which cannot be carried.')
    # ascontiguousarray would give a scalar a dimension.
    return dtype, array.shape, np.ascontiguousarray(array, array.dtype.newbyteorder("="))


def to_array(name, value):
    """A numpy array of what a model gave under a name."""
    if not isinstance(value, (np.ndarray, np.generic, bool, int, float, complex, str, bytes, list, tuple)):
        kind = type(value).__name__
        raise HostError("internal", f'Output "{name}" is a {kind}; expected an array, a number, a string or lists of them.')
    if isinstance(value, (str, bytes)):
        return _texts(value)
    try:
        array = plain_array(f'Output "{name}"', value)
    except ValueError as error:
        raise HostError("internal", f'Output "{name}" is no regular array: {error}') from error
    return _texts(value) if array.dtype.kind in "SU" and isinstance(value, (list, tuple)) else array


def plain_array(what, value):
    """An array without a mask; refuses one in which values are masked, since those below the mask are none."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise HostError("internal", f"{what} is an array with masked values; expected a value for each, as filled(value) gives them.")
    return np.asarray(value)


def _texts(value):
    """As Python's own: numpy's texts end before their last zero bytes, and it makes texts of the numbers beside them."""
    return np.array(value, object)


def _strings(data, shape):
    count = 1
    for size in shape:
        count *= size
    lengths = np.frombuffer(data, LENGTHS, count)
    array = np.empty(count, object)
    start = 4 * count
    for index, length in enumerate(lengths.tolist()):
        array[index] = bytes(data[start : start + length])
        start += length
    return array.reshape(shape)


def _from_strings(name, array):
    elements = [_to_text(name, each) for each in array.reshape(-1).tolist()]
    lengths = np.array([len(each) for each in elements], LENGTHS)
    return "bytes", array.shape, lengths.tobytes() + b"".join(elements)


def _to_text(name, element):
    if isinstance(element, bytes):
        return element
    if isinstance(element, str):
        try:
            return element.encode()
        except UnicodeEncodeError as error:
            raise HostError("internal", f'The model\'s output "{name}" has text that UTF-8 cannot carry: {error}.') from error
    raise HostError("internal", f'Output "{name}" has a {type(element).__name__} among its elements; expected strings.')
