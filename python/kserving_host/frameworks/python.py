"""The user's own class: `load(path, options)`, `predict(inputs) -> outputs`, and if it likes `inputs`, `outputs`, `close()`.

It answers in parts by a generator: `predict` itself, or `predict_stream(inputs)` beside it or in place of it.
"""

import operator

import numpy as np

from .. import arrays, declared, user_module
from ..errors import HostError, last_lines, one_line, refused
from ..framework import BaseFramework
from ..parts import is_parts, kind_of


class Framework(BaseFramework):
    # The class may count what it is asked, or ask others: it is never run without a request.
    dry_runs = False

    def load(self):
        options = self.request.options
        self.model_class = user_module.load_class(options["model_class"])
        self.model = user_module.create(self.model_class, options.get("model_args"))
        self._take_methods(options["model_class"])
        if callable(getattr(self.model, "load", None)):
            self._load(options)
        self.inputs = self.request.inputs or _specs(self.model, "inputs")
        self.outputs = _specs(self.model, "outputs")
        self._known = self.inputs and [each["name"] for each in self.inputs]

    def predict(self, inputs, wanted):
        outputs = self.by_name(self.model.predict(self._given(inputs)))
        if self.outputs and wanted is None:
            declared.check_complete(outputs, self.outputs)
        return outputs

    def by_name(self, value):
        outputs = super().by_name(value)
        return declared.as_declared(outputs, self.outputs) if self.outputs else outputs

    def stream(self, inputs):
        parts = self._stream(self._given(inputs))
        if is_parts(parts):
            return parts
        raise HostError("internal", f"predict_stream returned a {type(parts).__name__}; expected a generator, or another iterator of outputs.")

    def from_array(self, name, array):
        """bfloat16 comes as float32, which holds each of its values."""
        if not isinstance(array, arrays.Bits):
            return array
        return np.left_shift(array.array.astype(np.uint32), 16).view(np.float32)

    def is_leaf(self, value):
        # A list is one output, as numpy reads it, unless it has structure of its own.
        if isinstance(value, list):
            return not any(_has_members(each) for each in value)
        return super().is_leaf(value) or _is_foreign(value)

    def to_array(self, value):
        """Arrays of other libraries: sparse matrices, columns of pandas, torch's tensors."""
        if not _is_foreign(value):
            return value
        if hasattr(value, "detach"):
            return value.detach().cpu().numpy()
        return value.toarray() if hasattr(value, "toarray") else np.asarray(value)

    def is_callers_fault(self, error):
        return isinstance(error, ValueError)

    def facts(self):
        return {"class": getattr(self.model_class, "__name__", str(self.model_class))}

    def close(self):
        if callable(getattr(self.model, "close", None)):
            self.model.close()

    def _given(self, inputs):
        if self._known:
            self.check_names(inputs, self._known, self._known)
        return {name: self.from_array(name, array) for name, array in inputs.items()}

    def _take_methods(self, name):
        predict, stream = (getattr(self.model, each, None) for each in ("predict", "predict_stream"))
        if not callable(predict) and not callable(stream):
            raise refused(f"{name} has no method predict(inputs); expected a class with load(path, options) and predict(inputs), or predict_stream(inputs) that yields.")
        self.at_once = callable(predict) and kind_of(predict) is None
        self.in_parts = callable(stream) or not self.at_once
        self._stream = stream if callable(stream) else predict

    def _load(self, options):
        try:
            self.model.load(self.request.path, options.get("all", {}))
        except Exception as error:
            name = type(self.model).__name__
            raise refused(f"{name}.load failed: {last_lines(error)}", error) from error


def _specs(model, attribute):
    """As a list of specs, or a dict of dtypes (or of [dtype, shape]) by name."""
    value = getattr(model, attribute, None)
    if value is None or callable(value):
        return None
    try:
        items = [_spec(*each) for each in (value.items() if hasattr(value, "items") else map(_members, value))]
    except (TypeError, ValueError, KeyError) as error:
        expected = "a dict of dtypes, or of [dtype, shape], by name"
        raise refused(f"{attribute} of {type(model).__name__} cannot be read ({one_line(error)}); expected {expected}.", error) from error
    # What a class returns is numpy's, which has no bfloat16.
    known = (*arrays.NUMPY_TYPES, "bytes", None, *(["bfloat16"] if attribute == "inputs" else []))
    for each in items:
        if each.get("dtype") not in known:
            raise HostError("failed_precondition", f'{attribute} gives "{each["name"]}" the dtype {each["dtype"]}; expected numpy\'s names, or bytes.')
    return items


def _members(spec):
    return spec["name"], (spec.get("dtype"), spec.get("shape"))


def _spec(name, value):
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is no name")
    dtype, shape = value if isinstance(value, (list, tuple)) else (value, None)
    spec = {"name": name, "dtype": dtype if dtype is None else _dtype(dtype), "shape": shape if shape is None else [operator.index(size) for size in shape]}
    return {key: member for key, member in spec.items() if member is not None}


def _dtype(value):
    return value if isinstance(value, str) else np.dtype(value).name


def _has_members(value):
    return hasattr(value, "items") or isinstance(value, np.ndarray) or _is_foreign(value)


def _is_foreign(value):
    """A table is none: its columns are."""
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "columns"):
        return False
    return hasattr(value, "toarray") or hasattr(value, "__array__")
