"""Models of named fields: the inputs are the fields by name, one value a row, or one array with rows of all fields in their order."""

from .. import arrays
from ..errors import invalid, missing_input
from ..framework import BaseFramework, one_input
from .features import of_categories
from .tables import check_lengths, is_misnamed, is_numbered, not_rows, to_column, to_texts


class FieldFramework(BaseFramework):
    """`fields` has a dtype by field, `categories` the values that a field may have, if they are known."""

    dry_runs = False
    is_tabular = True
    fields = {}
    categories = {}

    def suggested(self):
        return [{"name": name, "dtype": dtype, "shape": [-1], **of_categories(self.categories.get(name, []))} for name, dtype in self.fields.items()]

    def is_pure(self):
        return True

    def facts(self):
        return {"class": self.kind(), "features": len(self.fields), "feature_names": list(self.fields)}

    def kind(self):
        """What sort of model it is, for the log and for hooks."""
        raise NotImplementedError

    def rows(self, inputs):
        """Lists of values in the fields' order, None for those that are missing; refuses columns of different lengths."""
        columns = self._columns(inputs)
        check_lengths(dict(zip(self.fields, columns)))
        return [[None if value != value else value for value in row] for row in zip(*columns)]

    def _columns(self, inputs):
        names = list(self.fields)
        if not inputs:
            raise missing_input(names[0], names)
        if is_numbered(inputs) and len(inputs) == len(names):
            inputs = dict(zip(names, inputs.values()))
        if len(inputs) == 1 and (next(iter(inputs)) not in self.fields or len(names) > 1):
            if is_misnamed(inputs):
                self.check_names(inputs, names, names)
            array = _values(one_input(inputs))
            if array.ndim != 2 or array.shape[1] != len(names):
                raise not_rows(f"{', '.join(names)}, or rows of these {len(names)}", len(names), array)
            return [array[:, index].tolist() for index in range(len(names))]
        self.check_names(inputs, names, names)
        return [to_column(name, _values(inputs[name])).tolist() for name in names]


def _values(array):
    if isinstance(array, arrays.Bits):
        raise invalid("The input is bfloat16, which such models do not have; send float32.")
    return to_texts(array) if array.dtype == object else array
