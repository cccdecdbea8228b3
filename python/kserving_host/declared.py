"""The outputs that a user's class declares: what it gives has those names, types and shapes, or its request fails."""

import numpy as np

from . import arrays
from .errors import HostError

# Names in a message.
MAX_NAMES = 20


def as_declared(outputs, specs):
    """The outputs with plain values (numbers and lists of them) in their declared types, where those hold them."""
    known = {each["name"]: each for each in specs}
    return {name: _checked(name, value, known, specs) for name, value in outputs.items()}


def check_complete(outputs, specs):
    missing = [each["name"] for each in specs if each["name"] not in outputs]
    if missing:
        raise HostError("internal", f'The model did not return the declared output "{missing[0]}", but {_quoted(outputs) or "nothing else"}.')


def _checked(name, value, known, specs):
    spec = known.get(name)
    if spec is None:
        raise HostError("internal", f'The model returned "{name}", which is not declared; declared are {_quoted(known)}.')
    array = value if isinstance(value, arrays.Bits) else arrays.to_array(name, value)
    wanted = arrays.NUMPY_TYPES.get(spec.get("dtype"))
    if _is_plain(value):
        array = _shaped(array, spec)
    if wanted is not None and (_is_plain(value) or _are_floats(array, wanted)):
        array = _converted(array, wanted)
    dtype, shape = _facts(array)
    if dtype == spec.get("dtype", dtype) and _fits(shape, spec.get("shape")):
        return array
    raise HostError("internal", f'The model returned "{name}" as {dtype}{list(shape)}; declared is {spec.get("dtype", "any type")}{spec.get("shape", "[...]")}.')


def _is_plain(value):
    return isinstance(value, (bool, int, float, complex, str, bytes, list, tuple)) and not isinstance(value, np.generic)


def _shaped(array, spec):
    """An empty list, or one element where one is declared, in the declared shape."""
    sizes = spec.get("shape")
    if array.shape == (0,) and (sizes is None or -1 in sizes):
        shape = array.shape if sizes is None else [max(size, 0) for size in sizes]
        return np.empty(shape, arrays.NUMPY_TYPES.get(spec.get("dtype", array.dtype.name), object))
    return array.reshape(sizes) if array.size == 1 and sizes is not None and all(size == 1 for size in sizes) else array


def _are_floats(array, dtype):
    """numpy makes float64 of float32 by itself, as soon as a number of Python's is among them."""
    return dtype.kind == "f" and getattr(array.dtype, "kind", "") == "f"


def _converted(array, dtype):
    """As another type of number, if that is not infinite where it was finite, and whole where it has no fractions."""
    if dtype.kind not in "iuf" or array.dtype.kind not in "iuf":
        return array
    with np.errstate(all="ignore"):
        converted = array.astype(dtype)
    is_kept = (np.isfinite(converted) == np.isfinite(array)).all() if dtype.kind == "f" else (converted == array).all()
    return converted if is_kept else array


def _facts(value):
    if isinstance(value, arrays.Bits):
        return value.dtype, value.array.shape
    if value.dtype.kind in "OSU":
        return "bytes", value.shape
    return arrays.NAMES.get(value.dtype.newbyteorder("="), str(value.dtype)), value.shape


def _fits(shape, sizes):
    return sizes is None or (len(shape) == len(sizes) and all(size in (-1, own) for own, size in zip(shape, sizes)))


def _quoted(names):
    """The first of them: a class may give any number of outputs."""
    more = f", and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(f'"{name}"' for name in list(names)[:MAX_NAMES]) + more
