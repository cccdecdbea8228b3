"""PyTorch: state dicts with the user's class, TorchScript, exported programs, encoders of transformers, and whole pickles where the user trusts them."""

import re

import numpy as np
import torch

from .. import arrays
from ..errors import HostError, invalid, one_line, refused
from ..framework import BaseFramework
from .pytorch_casts import cast, casts_for, is_dtype_fault
from .pytorch_files import load_file
from .pytorch_signature import read_parameters

# By the server's names, as far as this version of torch has them.
TYPES = {
    name: getattr(torch, name)
    for name in (
        "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
    )
    if hasattr(torch, name)
}
TYPE_NAMES = {dtype: name for name, dtype in TYPES.items()}

# How torch says that an input has the wrong rank, size or type; its classes of errors do not tell that from a bug in the model.
CALLERS_FAULT = re.compile(
    "|".join(
        (
            r"shapes? cannot be multiplied|size mismatch|must match the size of tensor|Sizes of tensors must match|must have the same dtype",
            r"[Ee]xpected (\d+[- ]?D|\d-dimensional|tensor for|input|scalar type|object of scalar|more than 1 value|hidden|m1 and m2|mat1 and mat2)",
            r"[Ee]xpected (.* dtype|.* to have|\w+ (or|and) \w+ input)|Input type .* and (weight|bias) type|[Ii]nput dtype must be|input shape|input must have \d",
            r"index out of range in self|is invalid for input of size|Given (groups|normalized_shape|input size)|Dimension out of range",
            r"dimension specified as|Kernel size can't be greater|doesn't match the broadcast shape|For (unbatched|batched) \d-D",
            r"same reduction dim|Guard failed|violates? .*constraint|Unexpected (number of inputs|input)|must be equal to input_size",
            r"must be a (3D tensor|matrix)|[Ee]xpected (size for first|number of channels|reduction dim)|should contain \d+ elements not",
            r"expecting embedding dimension|to be equal size|does not (broadcast|match weight size)|must match the existing size",
            r"is out of bounds|split_sizes to sum|maximum size for tensor at|divisible by|input Tensors supported",
            r"Padding size should be less|number of dimensions in the tensor input does not match|Mismatch of parameter numbers",
        )
    )
)
# What a compiled model says of a failure within it.
COMPILED_ERROR = re.compile(r"got (\w*Error)\((['\"])(.*?)\2\)", re.S)
SCRIPT_ERROR = re.compile(r"^(?:RuntimeError|ValueError|IndexError|builtins\.\w+): ", re.M)
# Combinations of dtypes that are remembered.
MOST_CASTS = 64


class Framework(BaseFramework):

    def load(self):
        options = self.request.options
        self._device = _device(options.get("device", "cpu"))
        self._dtype = _float_type(options)
        torch.set_num_threads(max(1, int(options.get("threads") or self.request.threads)))
        loaded = load_file(self.request.path, options, self._device)
        self.model_class = loaded.model_class
        self.model = self._prepare(loaded.model)
        self.kind = loaded.kind
        self._arrange = loaded.arrange
        self._parameters = read_parameters(loaded)
        self.inputs = _merge(self.request.inputs, self._parameters, loaded.inputs)
        # With names of the user's own a run on zeros tells the outputs.
        self.outputs = loaded.outputs if self.request.outputs is None else None
        self._names = {each["name"]: index for index, each in enumerate(self.inputs)}
        self._places = list(zip(self._names, self._parameters))
        self._required = [each["name"] for each, parameter in zip(self.inputs, self._parameters) if parameter.required]
        self._run = self._compiled(options)
        self._floats = self._dtype or TYPES.get(self._weights_dtype(), torch.float32)
        self._may_run_again = self.is_pure()
        self._casts = {}

    def predict(self, inputs, wanted):
        self.check_names(inputs, self._required, self._names)
        tensors = {name: self.from_array(name, array) for name, array in inputs.items()}
        with torch.inference_mode():
            return self.by_name(self._run_cast(tensors))

    def _run_cast(self, tensors):
        """Runs the model; where it refuses the dtype of an input that declares none, on the same numbers in a dtype that it takes."""
        types = tuple((name, tensor.dtype) for name, tensor in tensors.items())
        casts = self._casts.get(types, {})
        try:
            return self._call(cast(tensors, casts))
        except Exception as error:
            if not self._may_run_again or not is_dtype_fault(error):
                raise
            return self._run_again(tensors, types, error)

    def _run_again(self, tensors, types, failure):
        undeclared = {name: tensor for name, tensor in tensors.items() if self.inputs[self._names[name]].get("dtype") is None}
        for casts in casts_for(undeclared, self._floats):
            try:
                answer = self._call(cast(tensors, casts))
            except Exception:
                continue
            if len(self._casts) < MOST_CASTS:
                self._casts[types] = casts
            return answer
        raise failure

    def likely_dtypes(self):
        """Floats like the weights in their file, or the numbers of words or classes."""
        floats = self._weights_dtype() if self._dtype is None else None
        return [floats or "float32", "int64"]

    def likely(self):
        """Guessed from the first weights: what a convolution, an embedding, a recurrent or a linear layer takes."""
        if all(each.get("dtype") for each in self.inputs):
            return []
        number = self._weights_dtype() or "float32"
        return [[self._guess(each, dtype, shape) for each in self.inputs if each["name"] in self._required] for dtype, shape in _guesses(self.model, number)]

    def _guess(self, spec, dtype, shape):
        if self._parameters[self._names[spec["name"]]].convert is not None:
            return {"name": spec["name"], "dtype": "float32", "shape": []}
        return {"name": spec["name"], "dtype": spec.get("dtype") or dtype, "shape": spec.get("shape") or shape}

    def is_pure(self):
        """TorchScript that keeps state sets attributes of itself."""
        try:
            return self.kind != "torchscript" or "prim::SetAttr" not in str(self.model.inlined_graph)
        except RuntimeError:
            return False

    def facts(self):
        dtype = self._weights_dtype()
        name = getattr(self.model_class, "__name__", None) or type(self.model).__name__
        return {"kind": self.kind, "torch": torch.__version__, "device": str(self._device), "dtype": dtype, "class": name}

    def is_leaf(self, value):
        return isinstance(value, torch.Tensor) or super().is_leaf(value)

    def to_array(self, value):
        if not isinstance(value, torch.Tensor):
            return value
        try:
            return value.numpy()
        except (RuntimeError, TypeError):
            # Of another device, layout or type than numpy's.
            return self._convert(value)

    def _convert(self, value):
        tensor = value.detach()
        if tensor.layout != torch.strided:
            tensor = tensor.to_dense()
        if tensor.is_quantized:
            tensor = tensor.dequantize()
        tensor = tensor.to("cpu").resolve_conj().resolve_neg() if tensor.is_complex() else tensor.cpu()
        if tensor.dtype == torch.bfloat16:
            return arrays.Bits(tensor.contiguous().view(torch.int16).numpy().view(np.uint16))
        return tensor.numpy()

    def from_array(self, name, array):
        if isinstance(array, arrays.Bits):
            tensor = torch.from_numpy(array.array.view(np.int16)).view(torch.bfloat16)
        elif array.dtype == object:
            raise invalid(f'Input "{name}" is bytes; PyTorch has no strings.')
        else:
            tensor = _from_numpy(name, array)
        if self._dtype is not None and tensor.is_floating_point():
            tensor = tensor.to(self._dtype)
        return tensor if self._device.type == "cpu" else tensor.to(self._device)

    def is_callers_fault(self, error):
        return isinstance(error, (RuntimeError, ValueError, IndexError, AssertionError, torch.jit.Error)) and CALLERS_FAULT.search(str(error)) is not None

    def message_of(self, error):
        text = str(error)
        compiled = COMPILED_ERROR.search(text) if type(error).__name__ == "TorchRuntimeError" else None
        if compiled:
            return f"{compiled[1]}: {compiled[3]}"
        if "Traceback of TorchScript" in text:
            places = list(SCRIPT_ERROR.finditer(text))
            text = text[places[-1].end() :] if places else text.strip().rsplit("\n", 1)[-1]
        text = text.split("\nException raised from ", 1)[0].split("\nC++ CapturedTraceback", 1)[0]
        if isinstance(error, torch.jit.Error):
            # Raised by the model's own code, of which it shows the lines.
            return one_line(RuntimeError(text))
        return one_line(type(error)(text)) if type(error) in (RuntimeError, ValueError, IndexError) else one_line(error)

    def _prepare(self, model):
        try:
            if hasattr(model, "to"):
                model = model.to(self._device) if self._dtype is None else model.to(self._device, self._dtype)
            # Exported programs have their mode built in, and refuse to be asked.
            return model.eval() if self.request.options and not _is_exported(model) else model
        except Exception as error:
            raise refused(f"The model cannot be moved to {self._device}: {one_line(error)}", error) from error

    def _compiled(self, options):
        if not options.get("compile"):
            return self.model
        if not hasattr(torch, "compile"):
            raise refused(f"The option compile needs torch 2.0 or later; this is {torch.__version__}.")
        if self.kind == "torchscript":
            raise refused("torch.compile takes no TorchScript: leave out compile, or give the weights with model_class.")
        return torch.compile(self.model)

    def _weights_dtype(self):
        return next((TYPE_NAMES.get(each.dtype) for each in self._tensors() if each.is_floating_point()), None)

    def _tensors(self):
        return self.model.parameters() if hasattr(self.model, "parameters") else ()

    def _call(self, tensors):
        """By position where that is possible; what is left out behind the last one given keeps its default."""
        last = max(map(self._names.__getitem__, tensors), default=-1)
        given = [(parameter, _argument(tensors.get(name), parameter)) for name, parameter in self._places[: last + 1]]
        if self._arrange is not None:
            args, named = self._arrange([value for _, value in given])
            return self._run(*args, **named)
        named = {parameter.name: value for parameter, value in given if parameter.by_name}
        return self._run(*(value for parameter, value in given if not parameter.by_name), **named)


def _argument(tensor, parameter):
    if tensor is None:
        return parameter.default
    return tensor if parameter.convert is None else parameter.convert(tensor)


def _guesses(model, number):
    """dtypes and shapes for the first layer, by its weights; then for a model of any first layer."""
    weights = next((each for each in model.state_dict().values() if each.dim() > 1), None) if hasattr(model, "state_dict") else None
    anything = [(number, None), ("int64", None)]
    if weights is None:
        return anything
    width = weights.shape[1]
    if weights.dim() > 2:
        return [(number, [-1, width, *[-1] * (weights.dim() - 2)]), *anything]
    return [(number, [-1, width]), ("int64", [-1, -1]), (number, [-1, -1, width]), *anything]


def _from_numpy(name, array):
    try:
        return torch.from_numpy(array)
    except TypeError as error:
        dtype = arrays.NAMES.get(array.dtype, str(array.dtype))
        raise invalid(f'Input "{name}" is {dtype}, which torch {torch.__version__} does not have.') from error


def _device(name):
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise HostError("invalid_argument", f'Option "device" is "{name}"; expected cpu, cuda, cuda:N or mps.') from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise refused(f'Option "device" is "{name}", but torch {torch.__version__} finds no CUDA device here.')
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise refused(f'Option "device" is "{name}"; the last device here is cuda:{torch.cuda.device_count() - 1}.')
    if device.type == "mps" and not (hasattr(torch.backends, "mps") and torch.backends.mps.is_available()):
        raise refused(f'Option "device" is "{name}", but torch {torch.__version__} finds no Apple GPU here.')
    return device


def _float_type(options):
    name = "float16" if options.get("half") else options.get("dtype")
    return None if name is None else TYPES[name]


def _is_exported(model):
    return type(model).__module__.startswith("torch.fx") or type(model).__name__ in ("GraphModule", "UnflattenedModule")


def _merge(given, parameters, exported):
    """Specs of the inputs: what the user says goes before what the file says, names before forward's."""
    specs = exported or [parameter.spec() for parameter in parameters]
    if given is None:
        return specs
    if len(given) > len(parameters):
        raise HostError("invalid_argument", f'Option "inputs" names {len(given)}; forward takes {len(parameters)}: {", ".join(p.name for p in parameters)}.')
    if len(given) < sum(parameter.required for parameter in parameters):
        needed = [parameter.name for parameter in parameters if parameter.required]
        raise HostError("invalid_argument", f'Option "inputs" names {len(given)}; forward needs {len(needed)}: {", ".join(needed)}.')
    return [{**(specs[index] if index < len(specs) else {}), **each} for index, each in enumerate(given)]
