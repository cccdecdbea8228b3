"""PMML: models as XML, by PyPMML in a Java machine of this process."""

import signal

import numpy as np
import pypmml

from .. import arrays
from ..errors import invalid, one_line, refused
from ..framework import BaseFramework, one_input

# PMML's types by ours; dates and times are texts.
DTYPES = {"float": "float32", "double": "float64", "integer": "int64", "real": "float64", "boolean": "bool"}


class Framework(BaseFramework):
    """Inputs are the model's fields by name, or all in one array of rows; outputs are those that the model declares."""

    dry_runs = False

    def load(self):
        try:
            self.model = pypmml.Model.load(self.request.path)
        except Exception as error:
            raise refused(f"PyPMML {pypmml.__version__} cannot load the model: {one_line(error)}", error) from error
        finally:
            # The Java machine has put its own in its place.
            signal.signal(signal.SIGTERM, lambda *_: None)
        self.model_class = type(self.model)
        self._fields = {field.name: field for field in self.model.inputFields}

    def predict(self, inputs, wanted):
        columns = self._columns(inputs)
        sizes = {len(column) for column in columns}
        if len(sizes) > 1:
            raise invalid(f"The inputs have different numbers of rows: {', '.join(map(str, sorted(sizes)))}.")
        rows = [list(row) for row in zip(*columns)]
        answers = self.model.predict(rows)
        return {name: _column([row[index] for row in answers]) for index, name in enumerate(self.model.outputNames)}

    def suggested(self):
        return [{"name": name, "dtype": _dtype(field), "shape": [-1]} for name, field in self._fields.items()]

    def is_pure(self):
        return True

    def is_callers_fault(self, error):
        return isinstance(error, (ValueError, TypeError, pypmml.PMMLError))

    def facts(self):
        return {"class": self.model.modelElement, "features": len(self._fields), "feature_names": list(self._fields)}

    def _columns(self, inputs):
        """A list of values for each field."""
        names = list(self._fields)
        if len(inputs) == 1 and (next(iter(inputs)) not in self._fields or len(names) > 1):
            array = _values(one_input(inputs))
            if array.ndim != 2 or array.shape[1] != len(names):
                raise invalid(f"The model takes {', '.join(names)}, or rows of these {len(names)}; the input's shape is {list(array.shape)}.")
            return [array[:, index].tolist() for index in range(len(names))]
        self.check_names(inputs, names, names)
        return [_values(inputs[name]).reshape(-1).tolist() for name in names]


def _values(array):
    if isinstance(array, arrays.Bits):
        raise invalid("The input is bfloat16, which PMML does not have; send float32.")
    if array.dtype == object:
        return np.array([each.decode() for each in array.reshape(-1)], object).reshape(array.shape)
    return array


def _dtype(field):
    return DTYPES.get(field.dataType, "bytes")


def _column(values):
    """Numbers, or texts; what the model did not find is NaN, or the empty text."""
    if all(isinstance(each, bool) for each in values):
        return np.array(values, bool)
    if any(isinstance(each, str) for each in values):
        return np.array(["" if each is None else str(each) for each in values], object)
    return np.array([np.nan if each is None else each for each in values])
