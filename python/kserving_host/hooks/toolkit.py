"""The functions of SageMaker's toolkits for scikit-learn, PyTorch, XGBoost and others: model_fn, input_fn, predict_fn, output_fn, transform_fn."""

import inspect
import io
import json
import os
import sys

import numpy as np

from ..errors import HostError, refused
from ..parts import each_answer, is_parts, kind_of

PARTS = ("input_fn", "predict_fn", "output_fn")
FUNCTIONS = ("model_fn", *PARTS, "transform_fn")
JSON_TYPE, CSV_TYPE, NPY_TYPE = "application/json", "text/csv", "application/x-npy"
LINES_TYPE = "application/jsonlines"
# Bodies that input_fn gets as str.
TEXT_TYPES = (JSON_TYPE, CSV_TYPE)


class Toolkit:
    """One handler made of those functions; what the file leaves out is done as the toolkits do."""

    def __init__(self, module, path):
        self._functions = {name: getattr(module, name) for name in FUNCTIONS if callable(getattr(module, name, None))}
        self._folder = _model_folder(path)
        self._model = None

    def load(self, served):
        """Calls model_fn; without it the model is the server's own, which `served` is."""
        model_fn = self._functions.get("model_fn")
        self._model = served if model_fn is None else _call(model_fn, (self._folder,), None)

    def __call__(self, data, context):
        body, content_type, accept = data.read(), context.request_content_type, _accepted(context.accept_header)
        given = _text(body) if _bare(content_type) in TEXT_TYPES else body
        if "transform_fn" in self._functions:
            return _answer(_call(self._functions["transform_fn"], (self._model, given, content_type, accept), context), accept)
        values = _call(self._functions.get("input_fn", default_input), (given, content_type), context)
        predict_fn, output_fn = (self._functions.get(*each) for each in (("predict_fn", default_predict), ("output_fn", default_output)))
        predicted = _call(predict_fn, (values, self._model), context)

        def answer(prediction):
            return _answer(_call(output_fn, (prediction, accept), context), accept)

        in_parts = kind_of(predict_fn) or predict_fn is default_predict and is_parts(predicted)
        if not in_parts or kind_of(output_fn):
            return answer(predicted)
        are_lines = output_fn is default_output and accept == JSON_TYPE
        parts = each_answer(predicted, lambda part: _with_end(answer(part)[0], "\n" if are_lines else ""))
        return parts, LINES_TYPE if are_lines else accept


def find_toolkit(module, name):
    """The handler of a file with those functions; None for one without."""
    has = [each for each in FUNCTIONS if callable(getattr(module, each, None))]
    both = [each for each in PARTS if each in has] if "transform_fn" in has else []
    if both:
        raise refused(f"{name}: it has transform_fn and {', '.join(both)}; expected transform_fn alone, which does the work of these.")
    return Toolkit(module, os.path.abspath(name)) if has else None


def default_input(body, content_type):
    """An array of JSON, CSV or .npy."""
    kind = _bare(content_type)
    if kind == JSON_TYPE:
        return np.array(json.loads(body))
    if kind == CSV_TYPE:
        return np.genfromtxt(io.StringIO(body), dtype=np.float32, delimiter=",", ndmin=2)
    if kind == NPY_TYPE:
        return np.load(io.BytesIO(body))
    raise HostError("invalid_argument", f"The content type is {content_type}; expected {JSON_TYPE}, {CSV_TYPE} or {NPY_TYPE}, or an input_fn that takes it.")


def default_predict(values, model):
    """What a model of the usual libraries answers."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        with torch.no_grad():
            return model(values if isinstance(values, torch.Tensor) else torch.as_tensor(np.asarray(values, np.float32)))
    xgboost = sys.modules.get("xgboost")
    if xgboost is not None and isinstance(model, xgboost.Booster):
        return model.predict(values if isinstance(values, xgboost.DMatrix) else xgboost.DMatrix(values))
    if callable(getattr(model, "predict", None)):
        return model.predict(values)
    if callable(model):
        return model(values)
    raise HostError("internal", f"model_fn returned a {type(model).__name__}, which has no method predict; expected a predict_fn(data, model) that runs it.")


def default_output(predicted, accept):
    """JSON, CSV or .npy."""
    if hasattr(predicted, "detach"):
        predicted = predicted.detach().cpu().numpy()
    if accept == CSV_TYPE:
        array = np.asarray(predicted)
        return "\n".join(",".join(map(str, np.ravel(row).tolist())) for row in (array if array.ndim else [array])) + "\n"
    if accept == NPY_TYPE:
        buffer = io.BytesIO()
        np.save(buffer, np.asarray(predicted))
        return buffer.getvalue()
    return json.dumps(predicted, default=_plain)


class ServedModel:
    """The server's model, for files without a model_fn."""

    def __init__(self, driver):
        self._driver = driver

    def predict(self, values):
        """The only output of an array for the only input, or of a dict of arrays by name."""
        name = next(iter(self._driver.inputs), "inputs")
        outputs = self._driver.predict(values if hasattr(values, "items") else {name: np.asarray(values)})
        return outputs if len(outputs) > 1 else next(iter(outputs.values()))


def _call(function, values, context):
    """With the context behind the values where the function takes that much, as the toolkits' newer versions do."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return function(*values)
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return function(*values, context) if len(places) > len(values) else function(*values)


def _with_end(body, end):
    return body + end if isinstance(body, str) else body


def _answer(returned, accept):
    """Body and content type, which an output_fn may choose."""
    if is_parts(returned):
        return returned, accept
    if hasattr(returned, "get_data"):
        # A response of Flask or of the older toolkits.
        return returned.get_data(), getattr(returned, "mimetype", None) or accept
    if isinstance(returned, (tuple, list)) and len(returned) == 2 and isinstance(returned[1], str):
        return returned[0], returned[1]
    if isinstance(returned, (str, bytes, bytearray)):
        return returned, accept
    return default_output(returned, accept), accept if accept in (CSV_TYPE, NPY_TYPE) else JSON_TYPE


def _accepted(header):
    """The first type that a client names; JSON where it takes any."""
    first = _bare(header.split(",")[0])
    return JSON_TYPE if first in ("", "*/*", "application/*") else first


def _bare(content_type):
    return content_type.split(";")[0].strip().lower()


def _text(body):
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise HostError("invalid_argument", f"The body is not UTF-8: {error}.") from error


def _plain(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no JSON; expected an output_fn(prediction, accept) that writes it")


def _model_folder(path):
    """The folder around `code/`."""
    folder = os.path.dirname(path)
    return os.path.dirname(folder) if os.path.basename(folder) == "code" else folder
