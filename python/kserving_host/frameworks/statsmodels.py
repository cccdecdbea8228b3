"""statsmodels: fitted results, which are always pickles: regressions, models of formulas, time series."""

import ast

import pandas
import statsmodels

from .. import arrays
from ..errors import invalid, refused
from ..framework import BaseFramework, one_input
from .estimators import plain, to_rows
from .features import of_categories
from .pickles import load_pickle
from .tables import check_lengths, not_rows, to_column

# A forecast of more steps is a mistake.
MOST_STEPS = 100_000


class Framework(BaseFramework):
    """The output `predict` of rows, or of a formula's variables by name; `forecast` of a time series' next steps."""

    dry_runs = False
    is_tabular = True

    def load(self):
        self.model = load_pickle(self.request.path, self.request.options)
        self.model_class = type(self.model)
        if not callable(getattr(self.model, "predict", None)):
            raise refused(f"The pickle has a {self.model_class.__name__}; expected fitted results of statsmodels {statsmodels.__version__}, as results.save(path) writes them.")
        self._variables = _formula_variables(self.model)
        self._forecasts = self._variables is None and callable(getattr(self.model, "forecast", None))

    def predict(self, inputs, wanted):
        if self._forecasts:
            return {"forecast": plain(self.model.forecast(_steps(one_input(inputs))))}
        return {"predict": plain(self.model.predict(self._given(inputs)))}

    def suggested(self):
        if self._forecasts:
            return [{"name": "steps", "dtype": "int64", "shape": []}]
        if self._variables is not None:
            return [{"name": name, "dtype": "float64", "shape": [-1], **told} for name, told in self._variables.items()]
        count = self._count()
        return None if count is None else [{"name": "input", "dtype": "float64", "shape": [-1, count]}]

    def is_pure(self):
        return True

    def is_callers_fault(self, error):
        return isinstance(error, (ValueError, TypeError)) or type(error).__name__ == "PatsyError"

    def facts(self):
        kind = "forecast" if self._forecasts else "predict"
        return {"class": type(self.model.model).__name__, "methods": [kind], **({} if self._variables is None else {"feature_names": list(self._variables)})}

    def _given(self, inputs):
        """Rows with the constant among them where the model has one, or a table of a formula's variables."""
        if self._variables is None:
            rows, count = to_rows(inputs), self._count()
            if count is not None and (rows.ndim != 2 or rows.shape[1] != count):
                names = ", ".join(self.model.model.exog_names)
                raise not_rows(f"rows of {count} values ({names})", count, rows)
            return rows
        self.check_names(inputs, self._variables, self._variables)
        columns = {name: to_column(name, to_rows({name: array})) for name, array in inputs.items()}
        check_lengths(columns)
        return pandas.DataFrame(columns)

    def _count(self):
        names = getattr(self.model.model, "exog_names", None)
        return len(names) if isinstance(names, list) else None


def _steps(array):
    if isinstance(array, arrays.Bits) or array.size != 1 or array.dtype.kind not in "iuf" or not 1 <= array.item() <= MOST_STEPS:
        raise invalid(f"steps is how many values to forecast: one number from 1 to {MOST_STEPS}.")
    return int(array.item())


def _formula_variables(results):
    """By variable of a formula its categories, and their dtype; None for a model without one."""
    data = getattr(getattr(results, "model", None), "data", None)
    design = getattr(data, "design_info", None) or getattr(data, "model_spec", None)
    if design is None:
        return None
    if hasattr(design, "required_variables"):
        return {str(name): {"isAssumed": True} for name in sorted(design.required_variables)}
    found = {}
    for factor, info in design.factor_infos.items():
        found.update({name: of_categories(info.categories if info.type == "categorical" else []) for name in _names(factor.code)})
    return found


def _names(code):
    """Variables of an expression: its names, less those of functions and of their modules."""
    nodes = list(ast.walk(ast.parse(code, mode="eval")))
    used = [node.func for node in nodes if isinstance(node, ast.Call)] + [node.value for node in nodes if isinstance(node, ast.Attribute)]
    return [node.id for node in nodes if isinstance(node, ast.Name) and node not in used]
