"""MXNet: a symbol with its parameters, as net.export and model.save_checkpoint write them."""

import os
import re

import numpy as np

# MXNet 1.9 uses these names, which numpy no longer has.
for _name, _type in (("bool", bool), ("object", object), ("int", int), ("float", float)):
    if _name not in vars(np):
        setattr(np, _name, _type)

import mxnet

from .. import arrays
from ..errors import invalid, one_line, refused
from ..framework import BaseFramework

SYMBOL = "-symbol.json"
PARAMETERS = re.compile(r"-(\d{4})\.params$")
# What MXNet's C++ adds to a message.
TRACE = re.compile(r"\s*(Stack trace:.*|\[bt\].*)", re.S)
PLACE = re.compile(r"^(MXNetError:\s*)?(Traceback \(most recent call last\):\s*File \"[^\"]+\", line \d+\s*)?")


class Framework(BaseFramework):
    """Inputs are the symbol's arguments without parameters; labels of its training are not asked for."""

    def load(self):
        symbol_file, parameter_file = _files(self.request.path)
        try:
            self.model = mxnet.sym.load(symbol_file)
            saved = mxnet.nd.load(parameter_file)
        except Exception as error:
            raise refused(f"MXNet {mxnet.__version__} cannot load the model: {self.message_of(error)}", error) from error
        self.model_class = type(self.model)
        self._parameters = {kind: {name[4:]: value for name, value in saved.items() if name.startswith(kind)} for kind in ("arg:", "aux:")}
        own = [name for name in self.model.list_inputs() if not any(name in each for each in self._parameters.values())]
        self._names = [name for name in own if not name.endswith("_label")]
        self.inputs = self.request.inputs or [{"name": name} for name in self._names]
        self._executor = None
        self._shapes = None

    def predict(self, inputs, wanted):
        self.check_names(inputs, self._names, self._names)
        given = {name: _numbers(name, array) for name, array in inputs.items()}
        self._bind({name: array.shape for name, array in given.items()})
        for name, array in given.items():
            self._executor.arg_dict[name][:] = array
        self._executor.forward(is_train=False)
        return self.by_name({name: value.asnumpy() for name, value in self._executor.output_dict.items()})

    def is_callers_fault(self, error):
        return isinstance(error, (ValueError, mxnet.base.MXNetError))

    def message_of(self, error):
        return PLACE.sub("", TRACE.sub("", str(error)).strip()).strip() or one_line(error)

    def facts(self):
        return {"class": "Symbol", "outputs": self.model.list_outputs()}

    def _bind(self, shapes):
        """An executor for these shapes; the next one shares its parameters."""
        if shapes == self._shapes:
            return
        self._check_shapes(shapes)
        if self._executor is None:
            executor = self.model.simple_bind(mxnet.cpu(), grad_req="null", **shapes)
            executor.copy_params_from(self._parameters["arg:"], self._parameters["aux:"])
            self._executor = executor
        else:
            self._executor = self._executor.reshape(partial_shaping=True, allow_up_sizing=True, **shapes)
        self._shapes = shapes

    def _check_shapes(self, shapes):
        """MXNet would cut or fill up its parameters for inputs that do not fit them."""
        found = dict(zip(self.model.list_arguments(), self.model.infer_shape(**shapes)[0] or ()))
        for name, parameter in self._parameters["arg:"].items():
            if name in found and found[name] != parameter.shape:
                given = ", ".join(f"{each} {list(shape)}" for each, shape in shapes.items())
                raise invalid(f"The model refuses the inputs: with {given} its {name} would be {list(found[name])}; it is {list(parameter.shape)}.")


def _files(path):
    """The symbol and the newest parameters of a folder, or of the symbol's file."""
    if os.path.isdir(path):
        symbols = sorted(each for each in os.listdir(path) if each.endswith(SYMBOL))
        if len(symbols) != 1:
            raise refused(f"The folder has {len(symbols)} files NAME{SYMBOL}; expected one.")
        path = os.path.join(path, symbols[0])
    if not path.endswith(SYMBOL):
        raise refused(f"The file is {os.path.basename(path)}; expected NAME{SYMBOL} with NAME-0000.params beside it, or their folder.")
    folder, base = os.path.split(path)
    prefix = base[: -len(SYMBOL)]
    epochs = [each for each in os.listdir(folder or ".") if each.startswith(prefix) and PARAMETERS.fullmatch(each[len(prefix) :])]
    if not epochs:
        raise refused(f"{base} has no {prefix}-0000.params beside it.")
    return path, os.path.join(folder, max(epochs))


def _numbers(name, array):
    if isinstance(array, arrays.Bits) or array.dtype == object:
        raise invalid(f'Input "{name}" is {"bfloat16" if isinstance(array, arrays.Bits) else "bytes"}; MXNet takes numbers that numpy has.')
    return array
