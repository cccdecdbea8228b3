"""The pipeline's models as hooks see them: they run in the server, and answer numpy arrays."""

from ..errors import HostError
from . import current
from .values import pack_arguments, pack_values, to_numpy, unpack_values


def create_drivers(facts, ask, number):
    """One driver per stage; `number` is the request that its calls belong to, 0 for those of init_hook."""
    return [Driver(each, ask, number, stage) for stage, each in enumerate(facts)]


class Driver:
    """`inputs` maps names to shapes, `outputs` too; `predict(values)` gives arrays by name."""

    __slots__ = ("_facts", "_ask", "_number", "_model", "_args")

    def __init__(self, facts, ask, number, model):
        self._facts = facts
        self._ask = ask
        self._number = number
        self._model = model
        self._args = None

    @property
    def driver_name(self):
        return self._facts["name"]

    name = driver_name

    @property
    def inputs(self):
        return _shapes(self._facts["inputs"])

    @property
    def outputs(self):
        return _shapes(self._facts["outputs"])

    @property
    def specs(self):
        """dtype and shape of each input of which both are known."""
        dtypes = self._facts["dtypes"]
        return {name: (dtypes[name], shape) for name, shape in self.inputs.items() if name in dtypes}

    @property
    def args(self):
        """Keyword arguments of the stage's hooks."""
        if self._args is None:
            own = self._proxy(self._facts["args"], ())
            absent = {name: Absent(name, self.driver_name) for name in ABSENT.get(self.driver_name, ()) if name not in own}
            self._args = {**absent, **own, "model_inputs": self.inputs, "model_outputs": list(self.outputs), "driver": self}
        return self._args

    def predict(self, inputs, signature=None, outputs=None):
        header = {"call": "predict", "model": self._model, "signature": signature, "outputs": outputs}
        return self._send(*with_values(header, inputs, self.specs))[1]

    def stream(self, inputs, signature=None, outputs=None):
        """The parts of its answer, arrays by name each; one, of a model that answers once."""
        header = {"call": "stream", "model": self._model, "signature": signature, "outputs": outputs}
        return ModelParts(self._send, *with_values(header, inputs, self.specs))

    def _send(self, header, tensors):
        number = current.request_number() if self._number is None else self._number
        result, tensors = self._ask({**header, "request": number}, tensors)
        return result, {name: to_numpy(array) for name, array in tensors.items()}

    def _proxy(self, value, path):
        if isinstance(value, list):
            return [self._proxy(each, (*path, index)) for index, each in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if value.get("$method") is True:
            # Keywords by their order, such as TensorFlow's run(fetches, feed_dict=feeds).
            return lambda *args, **named: self._call(path, [*args, *named.values()])
        members = {name: self._proxy(each, (*path, name)) for name, each in value.items()}
        return Handle(".".join(map(str, path)), members) if path and _has_methods(value) else members

    def _call(self, path, args):
        packed, tensors = pack_arguments(args, self.specs)
        result, tensors = self._send({"call": "method", "model": self._model, "path": list(path), "args": packed}, tensors)
        return unpack_values(result, tensors)


def with_values(header, inputs, specs):
    """The header of a question with a model's inputs, and their arrays."""
    result, tensors = pack_values(inputs, specs)
    return (header if result is None else {**header, "values": result}), tensors


class ModelParts:
    """The parts of a model's answer, which it is asked for one after the other. One that is left tells the server so, whatever lets go of it, and does not wait for that."""

    _number = None

    def __init__(self, send, header, tensors):
        self._send = send
        self._question = header, tensors

    def __iter__(self):
        return self

    def __next__(self):
        if self._question is not None:
            question, self._question = self._question, None
            self._number, _ = self._send(*question)
        if self._number is None:
            raise StopIteration
        try:
            is_over, part = self._send({"call": "part", "stream": self._number}, {})
        except BaseException:
            self.close()
            raise
        if is_over:
            self._number = None
            raise StopIteration
        return part

    def close(self):
        number, self._number, self._question = self._number, None, None
        if number is not None:
            self._send({"call": "leave", "stream": number}, {})

    __del__ = close


def _shapes(specs):
    """The caller's own: the facts are those of all requests."""
    return {each["name"]: each["shape"] and [*each["shape"]] for each in specs}


class Handle:
    """An object of the server; its methods are called there."""

    def __init__(self, name, members):
        self.__dict__.update(members)
        self._name = name

    def __call__(self, *args, **kwargs):
        self.__getattr__("__call__")

    def __getattr__(self, name):
        has = ", ".join(each for each in self.__dict__ if not each.startswith("_"))
        raise AttributeError(f"{self._name} has no {name!r}: the model runs in the server, not in this process. It has {has}; driver.predict runs the model")


# What drivers of the original gave to hooks, and cannot be had from another process.
ABSENT = {
    "tensorflow": ("graph", "sess"),
    "pytorch": ("model", "model_class"),
    "openvino": ("exec_net", "plugin"),
}


class Absent:
    """Refuses any use, and says what to do instead."""

    def __init__(self, name, driver):
        object.__setattr__(self, "_text", f"{name} of the {driver} driver is not available to Python hooks: the model runs in the server, not in this process. Use driver.predict(values), or ctx.drivers[i].predict(values)")

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        raise HostError("failed_precondition", f"{self._text}.")

    def __call__(self, *args, **kwargs):
        raise HostError("failed_precondition", f"{self._text}.")

    def __getitem__(self, key):
        raise HostError("failed_precondition", f"{self._text}.")

    def __bool__(self):
        return False


def _has_methods(value):
    if isinstance(value, dict):
        return value.get("$method") is True or any(_has_methods(each) for each in value.values())
    return isinstance(value, list) and any(_has_methods(each) for each in value)
