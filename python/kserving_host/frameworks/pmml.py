"""PMML: models as XML, by PyPMML in a Java machine of this process."""

import numpy as np
import pypmml

from ..errors import one_line, refused
from ..signals import pass_over_signals
from .fields import FieldFramework

# PMML's types by ours; dates and times are texts.
DTYPES = {"float": "float32", "double": "float64", "integer": "int64", "real": "float64", "boolean": "bool"}


class Framework(FieldFramework):
    """Outputs are those that the model declares."""

    def load(self):
        try:
            self.model = pypmml.Model.load(self.request.path)
        except Exception as error:
            raise refused(f"PyPMML {pypmml.__version__} cannot load the model: {one_line(error)}", error) from error
        finally:
            # The Java machine has put its own in its place.
            pass_over_signals()
        self.model_class = type(self.model)
        self.fields = {field.name: DTYPES.get(field.dataType, "bytes") for field in self.model.inputFields}

    def predict(self, inputs, wanted):
        answers = self.model.predict(self.rows(inputs))
        return {name: _column([row[index] for row in answers]) for index, name in enumerate(self.model.outputNames)}

    def is_callers_fault(self, error):
        return isinstance(error, (ValueError, TypeError, pypmml.PMMLError))

    def kind(self):
        return self.model.modelElement


def _column(values):
    """Numbers, or texts; what the model did not find is NaN, or the empty text."""
    if all(isinstance(each, bool) for each in values):
        return np.array(values, bool)
    if any(isinstance(each, str) for each in values):
        return np.array(["" if each is None else str(each) for each in values], object)
    return np.array([np.nan if each is None else each for each in values])
