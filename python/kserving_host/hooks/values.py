"""Values between hooks and the server: arrays travel as tensors, what is plain as JSON, and the server gives it a dtype."""

import math

import numpy as np

from .. import arrays
from ..errors import MOST_SAFE, HostError
from ..parts import is_parts


def to_numpy(array):
    """bfloat16 comes as float32, which holds each of its values."""
    if not isinstance(array, arrays.Bits):
        return array
    return np.left_shift(array.array.astype(np.uint32), 16).view(np.float32)


def pack_values(returned, specs, json=False, came="it returned"):
    """What a hook gave by name, and how it came, for messages: None and its arrays, or JSON with markers for arrays where anything is plain. `specs` are dtype and shape of a model's inputs.

    Floats are float32 as in the original, also those without a fraction, except for requests of JSON, where they keep their digits.
    """
    if returned is None:
        raise _wrong(came, "None (is a return missing?)" if came == "it returned" else "None")
    if is_parts(returned):
        raise _wrong(came, "a generator (that a hook answers in parts is known if its own function has the yield)")
    if not hasattr(returned, "items"):
        raise _wrong(came, f"a {type(returned).__name__}")
    tensors, whole = {}, True
    for name, value in returned.items():
        if not isinstance(name, str):
            raise _wrong(came, f"a dict with the key {name!r}")
        wanted, shape = specs.get(name, (None, None))
        array = as_array(value, name)
        if array is None and not json:
            array, wanted = _floats_as_array(value), wanted or "float32"
        if array is None:
            whole = False
        tensors[name] = value if array is None else fit(array, wanted, shape)
    if whole:
        return None, tensors
    found = {}
    return {_escape(name): _pack(value, name, found) for name, value in tensors.items()}, found


def pack_plain(value, place):
    """Any value as JSON with markers, and the arrays."""
    found = {}
    return _pack(value, place, found), found


def pack_arguments(values, tensor_inputs=()):
    """Arguments of a method as JSON with markers, and the arrays. A list of arrays stays one, but for a model's input of these names, which is a tensor."""
    found = {}
    return [_pack_argument(each, "an argument", found, tensor_inputs) for each in values], found


def _pack_argument(value, place, found, tensor_inputs):
    if isinstance(value, (list, tuple)) and any(isinstance(each, np.ndarray) for each in _leaves(value)):
        return [_pack_argument(each, f"{place}[{index}]", found, ()) for index, each in enumerate(value)]
    if hasattr(value, "items") and as_array(value, place) is None:
        return {_escape(str(name)): _pack_member(name, each, f"{place}.{name}", found, tensor_inputs) for name, each in value.items()}
    return _pack(value, place, found)


def _pack_member(name, value, place, found, tensor_inputs):
    return _pack(value, place, found) if str(name).split(":")[0] in tensor_inputs or name in tensor_inputs else _pack_argument(value, place, found, ())


def values_of(message, tensors):
    """Arrays, or plain values with arrays in them, by name."""
    if "values" in message:
        return unpack_values(message["values"], tensors)
    return {name: to_numpy(array) for name, array in tensors.items()}


def unpack_values(json, tensors):
    """The values behind JSON with markers."""
    if isinstance(json, list):
        return [unpack_values(each, tensors) for each in json]
    if not isinstance(json, dict):
        return json
    if len(json) == 1 and "$tensor" in json:
        return to_numpy(tensors[json["$tensor"]])
    if len(json) == 1 and "$int" in json:
        return int(json["$int"])
    if len(json) == 1 and "$float" in json:
        return float(json["$float"])
    return {_unescape(name): unpack_values(each, tensors) for name, each in json.items()}


def as_array(value, place):
    """An array for what is one, or a list with arrays in it; None for what is plain."""
    if isinstance(value, arrays.Bits):
        return value
    if isinstance(value, str):
        return None
    if isinstance(value, (bytes, bytearray, memoryview)):
        return np.array(bytes(value), object)
    if isinstance(value, (np.ndarray, np.generic)):
        return arrays.plain_array(place, value)
    if isinstance(value, (list, tuple)):
        return _list_as_array(value, place)
    # Tensors of frameworks, images of Pillow.
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return np.asarray(value)
    return None


def fit(array, wanted, shape):
    """Casts numbers to a model's dtype as frameworks do that are fed arrays. What does not fit stays, and is refused by the model; so does an image, which the server prepares."""
    if isinstance(array, arrays.Bits):
        return array
    if array.dtype.kind in "US":
        return array.astype(object)
    target = arrays.NUMPY_TYPES.get(wanted)
    if target is None or array.dtype == target or not np.can_cast(array.dtype, target, "same_kind"):
        return array
    if array.dtype == np.uint8 and not _has_shape(array, shape):
        return array
    with np.errstate(over="ignore"):
        cast = array.astype(target)
    if target.kind in "iu":
        fits = np.array_equal(cast, array)
    else:
        fits = np.isfinite(cast).all() or np.array_equal(np.isfinite(cast), np.isfinite(array))
    return cast if fits else array


def _floats_as_array(value):
    """float64 for a float, or lists with one among their numbers; None for anything else, and for what float32 cannot hold."""
    leaves = list(_leaves([value]))
    if not any(isinstance(each, float) for each in leaves) or not all(type(each) in (int, float) for each in leaves):
        return None
    try:
        array = np.asarray(value, np.float64)
    except (ValueError, OverflowError):
        return None
    return None if (np.abs(array[np.isfinite(array)]) > np.finfo(np.float32).max).any() else array


def _has_shape(array, shape):
    return shape is not None and len(shape) == array.ndim and all(want in (-1, size) for want, size in zip(shape, array.shape))


def _list_as_array(value, place):
    first = next(_leaves(value), None)
    if isinstance(first, (bytes, bytearray)):
        return np.array([bytes(each) if isinstance(each, bytearray) else each for each in value], object)
    if not isinstance(first, (np.ndarray, np.generic)) or isinstance(first, str):
        return None
    for each in _leaves(value):
        arrays.plain_array(place, each)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise HostError("internal", f"a list of arrays of different shapes cannot be a tensor: {error}") from error


def _leaves(value):
    for each in value:
        if isinstance(each, (list, tuple)):
            yield from _leaves(each)
        else:
            yield each


def _pack(value, place, found):
    if isinstance(value, bool) or isinstance(value, str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _keep(np.asarray(value, np.float32), found)
    if isinstance(value, int):
        return value if abs(value) <= MOST_SAFE else {"$int": str(value)}
    if value is None:
        return None
    array = as_array(value, place)
    if array is not None:
        return _keep(fit(array, None, None), found)
    if hasattr(value, "items"):
        return {_escape(str(name)): _pack(each, f"{place}.{name}", found) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_pack(each, f"{place}[{index}]", found) for index, each in enumerate(value)]
    expected = "arrays, numbers, texts, bytes, and lists and dicts of them"
    raise HostError("internal", f"{place} is a {type(value).__name__}; expected {expected}")


def _keep(array, found):
    name = str(len(found))
    found[name] = array
    return {"$tensor": name}


def _escape(name):
    """A marker's key begins with one `$`."""
    return f"${name}" if name.startswith("$") else name


def _unescape(name):
    return name[1:] if name.startswith("$") else name


def _wrong(came, what):
    return HostError("internal", f"{came} {what}; expected a dict of values by name")
