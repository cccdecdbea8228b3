"""MLflow: folders of any flavor, as mlflow.pyfunc loads them; their signature has the columns or tensors."""

import os

# Read once, when it is imported: a server reports nothing of its models to others.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

import mlflow.exceptions
import mlflow.pyfunc
import numpy as np
import pandas as pd

from ..errors import invalid, missing_input, one_line, refused
from .estimators import EstimatorFramework
from .tables import first_row, is_table, to_texts

# Of columns, by MLflow's names of types; others go as they came, and MLflow says what it thinks of them.
COLUMN_TYPES = {"long": "int64", "integer": "int32", "double": "float64", "float": "float32", "boolean": "bool", "string": "bytes", "datetime": "bytes"}

DATE = "2020-01-31"

# Before pandas 2, each text is read by itself, in whatever form it has.
ISO_8601 = {"format": "ISO8601"} if int(pd.__version__.partition(".")[0]) >= 2 else {}

CALLERS_FAULTS = ("INVALID_PARAMETER_VALUE", "BAD_REQUEST")


class Framework(EstimatorFramework):
    methods = {"predict": "predict"}
    # Rows without names become tables too, as MLflow's own server makes them.
    checks_columns = True
    may_take_texts = True
    # Code of the model's author may do anything.
    dry_runs = False

    def load(self):
        if not self.request.options.get("allow_pickle"):
            raise refused("MLflow loads the folder by running the Python code and pickles in it. For a folder that you trust: -o allow_pickle=true.")
        try:
            model = mlflow.pyfunc.load_model(self.request.path)
        except ModuleNotFoundError as error:
            raise refused(f'The folder\'s model needs the module "{error.name}", which this Python does not have; requirements.txt in the folder lists what it needs.', error) from error
        except Exception as error:
            raise refused(f"MLflow {mlflow.__version__} cannot load the folder: {one_line(error)}", error) from error
        schema = model.metadata.get_input_schema()
        self._tensors = list(schema.inputs) if schema is not None and schema.is_tensor_spec() else []
        self._columns_known = list(schema.inputs) if schema is not None and not self._tensors and schema.has_input_names() else []
        self.is_tabular = not self._tensors
        if self._tensors and self.inputs is None:
            self.inputs = [_to_spec(each) for each in self._tensors]
        self.use(model)

    def suggested(self):
        """Dates are texts to clients, of which not all are dates."""
        dates = {each.name for each in self._columns_known if getattr(each.type, "name", None) == "datetime"}
        return [{**each, "example": DATE} if each["name"] in dates else each for each in super().suggested() or []] or None

    def features(self):
        names = [each.name for each in self._columns_known]
        return (len(names), names) if names else (None, None)

    def kinds(self, features):
        return {each.name: {"dtype": COLUMN_TYPES[each.type.name]} for each in self._columns_known if getattr(each.type, "name", None) in COLUMN_TYPES}

    def rows(self, inputs):
        if self._tensors:
            return self._of_tensors(inputs)
        count, names = self.features()
        if is_table(inputs, count, names):
            optional = {each.name for each in self._columns_known if not each.required}
            missing = [name for name in names or [] if name not in inputs and name not in optional]
            if missing:
                raise missing_input(missing[0], names)
        rows = super().rows(inputs)
        return self._of_declared_types(rows) if hasattr(rows, "columns") else rows

    def _of_tensors(self, inputs):
        arrays = {name: to_texts(array) if array.dtype == object else array for name, array in inputs.items()}
        if len(self._tensors) > 1 or self._tensors[0].name:
            return arrays
        return next(iter(arrays.values()))

    def _of_declared_types(self, table):
        """JSON has one kind of number: whole ones become integers where the signature says so. Of those that do not fit MLflow says so. A column without any values is left out where it may be, since numpy's integers have no missing ones."""
        casts, absent = {}, []
        for each in self._columns_known:
            dtype = COLUMN_TYPES.get(getattr(each.type, "name", None))
            if each.name not in table.columns or dtype is None:
                continue
            values = table[each.name]
            is_empty = len(values) > 0 and bool(values.isna().all())
            if is_empty and not each.required and dtype in ("int64", "int32"):
                absent.append(each.name)
            elif each.type.name == "datetime":
                casts[each.name] = _as_dates(values, is_empty)
            elif dtype in ("bytes", "bool"):
                casts.update(_as_objects(values, is_empty, dtype))
            elif _fits(values.to_numpy(), np.dtype(dtype)):
                casts[each.name] = values.astype(dtype)
        table = table.copy(deep=False)
        for name, values in casts.items():
            table[name] = values
        return table.drop(columns=absent)

    def is_pure(self):
        return False

    def is_callers_fault(self, error):
        """What MLflow says of inputs that do not fit the signature, and not of models that it cannot find."""
        return isinstance(error, mlflow.exceptions.MlflowException) and error.error_code in CALLERS_FAULTS

    def message_of(self, error):
        """Without the rows and the signature, which MLflow says before its reason."""
        text = super().message_of(error)
        return text.rpartition(" Error: ")[2] if "Failed to enforce schema" in text else text

    def facts(self):
        flavors = [name for name in self.model.metadata.flavors if name != "python_function"]
        return {**super().facts(), "flavors": flavors or ["python_function"]}


def _as_objects(values, is_empty, dtype):
    """By its name, a column of texts or truth whose missing values made it one of numbers, with values of its own type beside missing ones; one of NaN alone is a column of numbers to MLflow."""
    if values.dtype.kind != "f":
        return {}
    if is_empty:
        return {values.name: np.full(len(values), None, object)}
    if dtype == "bool" and values.dropna().isin([0, 1]).all():
        return {values.name: values.map({0: False, 1: True}).astype(object)}
    return {}


def _as_dates(values, is_empty):
    """Texts as dates and times of UTC without a zone, which is what MLflow has, where all of them are ISO 8601's; missing ones alone as no dates. MLflow reads the texts of other forms."""
    if is_empty:
        return pd.to_datetime(values.astype(object))
    if values.dtype != object:
        return values
    dates = pd.to_datetime(values, errors="coerce", utc=True, **ISO_8601).dt.tz_localize(None)
    wrong = (dates.isna() & values.notna()).to_numpy()
    if not wrong.any():
        return dates
    first = values[wrong].iloc[0]
    # What reads any form of a date takes long for a long text.
    if len(str(first)) > 100 or pd.isna(pd.to_datetime(first, errors="coerce")):
        row, value = first_row(values.to_numpy(), wrong)
        expected = f"a date such as {DATE} or {DATE}T12:30:00Z"
        raise invalid(f'Row {row}, "{values.name}": the value is {value}; expected {expected}.', reason="WRONG_DTYPE", field=values.name, expected=expected)
    return values


def _fits(values, dtype):
    """Whether numbers are the same in a type, but for digits of floats: whole ones for integers, and none beyond its range."""
    if values.dtype.kind not in "iuf":
        return False
    finite = values[np.isfinite(values)]
    if dtype.kind == "f":
        return not finite.size or max(abs(float(finite.min())), abs(float(finite.max()))) <= float(np.finfo(dtype).max)
    if finite.size < values.size or (values != np.trunc(values)).any():
        return False
    limits = np.iinfo(dtype)
    return not values.size or (limits.min <= int(values.min()) and int(values.max()) <= limits.max)


def _to_spec(tensor):
    dtype = np.dtype(tensor.type)
    name = "bytes" if dtype.kind in "OSU" else str(dtype)
    return {"name": tensor.name or "input", "dtype": name, "shape": list(tensor.shape)}
