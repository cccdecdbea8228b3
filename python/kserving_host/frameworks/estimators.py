"""Objects with scikit-learn's methods, whichever library they come from."""

import dataclasses

import numpy as np

from .. import arrays
from ..errors import invalid, missing_input
from ..framework import BaseFramework, one_input
from ..outputs import name_members
from .features import features_of_steps
from .tables import has_pandas, is_misnamed, is_numbered, is_table, to_column, to_object_rows, to_table, to_table_of_rows, to_texts, with_missing_texts


# Of features, in the log.
MOST_NAMES = 100
# Of features, for clients, who get all or none.
MOST_TOLD = 1000
# Of columns of numbers, which more readily come as rows.
MOST_COLUMNS = 100


class EstimatorFramework(BaseFramework):
    """Outputs are what the estimator's methods give; the names are those of Simple TensorFlow Serving."""

    # What the library computes in.
    number_type = "float64"
    # By output, in the order of the answer.
    methods = {name: name for name in ("predict", "predict_proba", "transform")}
    # Those that are called only where they are asked for: their values may be infinite, which JSON has no word for.
    methods_asked_for = {}
    # True where the library itself says which columns of a table are missing, and passes over others.
    checks_columns = False
    # True where a column that is missing has missing values.
    fills_columns = False
    # True where texts are categories, which data frames alone have.
    has_categories = False
    # True where a column of which nothing is known may have texts.
    may_take_texts = False
    is_tabular = True

    def predict(self, inputs, wanted):
        rows = self.rows(inputs)
        names = self._methods if wanted is None else [name for name in self._callable if any(_is_of(name, output) for output in wanted)]
        try:
            results = self._results(rows, names)
        except (TypeError, ValueError):
            others = with_missing_texts(rows)
            if others is None:
                raise
            results = self._results(others, names)
        return {output: array for name, result in results for output, array in _arrays(name, result)}

    def _results(self, rows, names):
        methods = {**self.methods, **self.methods_asked_for}
        return [(name, getattr(self.model, methods[name])(rows)) for name in names]

    def rows(self, inputs):
        """What the library takes: the rows of the one input, or a table whose columns are the inputs, by the names of the features or their numbers."""
        count, names = self.features()
        if not inputs:
            raise missing_input(names[0], names) if names else invalid("The request has no inputs; send a value for each feature.")
        if names is None and is_numbered(inputs):
            return to_object_rows({name: to_column(name, to_rows({name: array})) for name, array in inputs.items()})
        if not is_table(inputs, count, names):
            if names is not None and is_misnamed(inputs):
                self.check_names(inputs, names, names)
            rows = to_rows(inputs)
            # Pipelines ask for columns by the names that they were trained with.
            needs_names = self.checks_columns or (self.has_categories and rows.dtype == object)
            return to_table_of_rows(rows, names) if needs_names and names is not None and rows.ndim == 2 and rows.shape[1] == len(names) else rows
        if names is not None:
            required = [] if self.checks_columns or self.fills_columns else names
            self.check_names(inputs, required, names, passes_over=self.checks_columns)
        columns = {name: to_column(name, to_rows({name: array})) for name, array in inputs.items()}
        return to_table(columns, names, self.fills_columns)

    def use(self, estimator):
        """Takes over an estimator that was loaded."""
        self.model = estimator
        self.model_class = type(estimator)
        self._callable = [name for name, method in {**self.methods, **self.methods_asked_for}.items() if callable(_method(estimator, method))]
        self._methods = [name for name in self._callable if name in self.methods]
        if not self._methods:
            raise invalid(f"A {type(estimator).__name__} is no model: it has none of {', '.join(self.methods.values())}.")
        if self.request.outputs is not None:
            self._methods = self._callable = self._chosen(self.request.outputs)

    def _chosen(self, chosen):
        """Those that `-o outputs` names, in its order."""
        missing = [name for name in chosen if name not in self._callable]
        if missing:
            raise invalid(f'The model has no output "{missing[0]}", which the option outputs names. It has {", ".join(self._callable)}.')
        return chosen

    def features(self):
        """The number of features, and their names where they have names; None where they are not known, as for texts."""
        return _features(self.model, "n_features_in_", "feature_names_in_")

    def suggested(self):
        count, names = self.features()
        if count is None:
            return None
        told = {"features": names} if names is not None and len(names) == count <= MOST_TOLD else {}
        return self._columns(**told) or [{"name": "input", "dtype": self.suggested_type(), "shape": [-1, count], **told}]

    def _columns(self, features=()):
        """An input for each feature; None for those that are better sent as rows."""
        kinds = self.kinds(features)
        is_mixed = any("dtype" in kind for kind in kinds.values())
        is_short = 0 < len(features) <= MOST_COLUMNS
        # It takes seconds, which the first request would wait for.
        if not (is_mixed or is_short) or not has_pandas():
            return None
        assumed = {"isAssumed": True} if self.may_take_texts else {}
        return [{"name": name, "dtype": self.number_type, "shape": [-1], **kinds.get(name, assumed)} for name in features]

    def kinds(self, features):
        """By name the dtype of a feature that is no number, and the categories that the model knows."""
        return features_of_steps(self.model, features)

    def suggested_type(self):
        return self.number_type

    def likely(self):
        return [[{"name": "input", "dtype": "bytes", "shape": [-1]}], [{"name": "input", "dtype": self.number_type, "shape": [-1, -1]}]]

    def is_pure(self):
        return True

    def is_callers_fault(self, error):
        return isinstance(error, ValueError)

    def facts(self):
        count, names = self.features()
        facts = {"class": self.model_class.__name__, "methods": getattr(self, "_methods", [])}
        if count is not None:
            facts["features"] = count
        return facts if names is None else {**facts, "feature_names": names[:MOST_NAMES]}


def to_rows(inputs):
    """The one input as the libraries take it: rows of features, texts as str."""
    array = one_input(inputs)
    if isinstance(array, arrays.Bits):
        raise invalid("The input is bfloat16, which numpy does not have; send float32.")
    return to_texts(array) if array.dtype == object else array


def plain(result):
    """Turns a method's result into an array: sparse matrices and data frames too."""
    if hasattr(result, "toarray"):
        return result.toarray()
    return result.to_numpy() if hasattr(result, "to_numpy") else np.asarray(result)


def _arrays(name, result):
    """Several results have an output each: those of several targets are a list of arrays, which have as many columns as a target has classes."""
    return [(output, plain(leaf)) for output, leaf in name_members(name, result, _is_array)]


def _is_array(value):
    """Lists of plain values and of their lists are arrays too, and so are tables whose columns are of one type."""
    if hasattr(value, "dtypes") and hasattr(value, "columns"):
        return len(set(value.dtypes)) <= 1
    if hasattr(value, "_fields") or dataclasses.is_dataclass(value):
        return False
    if isinstance(value, (list, tuple)):
        return not any(_is_part(each, value) for each in value)
    return hasattr(value, "__array__") or hasattr(value, "toarray") or not hasattr(value, "items")


def _is_part(member, whole):
    """A result by itself, and not a row or a value of the array that the others make with it."""
    if isinstance(member, np.generic) or member is None:
        return False
    if isinstance(member, (list, tuple)):
        return isinstance(whole, tuple) or hasattr(member, "_fields")
    return hasattr(member, "__array__") or hasattr(member, "toarray") or hasattr(member, "items") or dataclasses.is_dataclass(member)


def _is_of(name, output):
    return output == name or output.startswith(f"{name}.")


def _method(estimator, name):
    # Many estimators have methods that raise AttributeError unless they were trained for them.
    return getattr(estimator, name, None)


def _features(estimator, count, names):
    try:
        found = getattr(estimator, count, None)
        called = getattr(estimator, names, None)
    except Exception:
        # Properties of pipelines ask their first step, which may raise anything.
        return None, None
    if not isinstance(found, (int, np.integer)):
        return None, None
    return int(found), None if called is None else [str(name) for name in called]
