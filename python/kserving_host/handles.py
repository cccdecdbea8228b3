"""Methods of the model, and of its class, for hooks: plain data and tensors go in and come out."""

import math

import numpy as np

from .errors import MOST_SAFE, HostError, invalid

TARGETS = ("model", "model_class")


def call(framework, message, tensors):
    """The result as JSON, with markers for the tensors beside it."""
    method = _method(framework, message["target"], message["method"])
    result = method(*_unpack(framework, message["args"], tensors))
    found = {}
    return _pack(framework, result, found), found


def _method(framework, target, path):
    found = getattr(framework, target) if target in TARGETS else None
    for part in path.split("."):
        found = getattr(found, part, None)
    if callable(found):
        return found
    raise invalid(f'The {target} has no method "{path}".')


def _unpack(framework, value, tensors):
    if isinstance(value, list):
        return [_unpack(framework, each, tensors) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"$tensor"}:
        return framework.from_array("argument", tensors[value["$tensor"]])
    return {key: _unpack(framework, each, tensors) for key, each in value.items()}


def _pack(framework, value, found):
    if isinstance(value, float) and not math.isfinite(value):
        raise HostError("internal", f"The method returned {value}; expected a finite number, or {value} in an array.")
    if isinstance(value, int) and abs(value) > MOST_SAFE:
        value = np.asarray(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if framework.is_leaf(value) or isinstance(value, (np.ndarray, np.generic)):
        name = str(len(found))
        found[name] = framework.to_array(value)
        return {"$tensor": name}
    if hasattr(value, "items"):
        return {str(key): _pack(framework, each, found) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_pack(framework, each, found) for each in value]
    raise HostError("internal", f"The method returned a {type(value).__name__}; expected tensors and plain data.")
