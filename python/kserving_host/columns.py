"""Arrays of what a model found in each of several rows, which may be more in one row than in another."""

import numpy as np


def column(values, dtype):
    """One value a row."""
    return np.array(values, _numpy_type(dtype)).reshape(len(values))


def ragged(rows, dtype):
    """A list a row; the shorter ones end in empty texts and zeros."""
    array = np.full((len(rows), max(map(len, rows), default=0)), "" if dtype == "bytes" else 0, _numpy_type(dtype))
    for index, row in enumerate(rows):
        array[index, : len(row)] = row
    return array


def to_texts(array):
    """The texts of an input of bytes, whatever its shape."""
    return [each.decode() for each in array.reshape(-1).tolist()]


def _numpy_type(dtype):
    return object if dtype == "bytes" else dtype
