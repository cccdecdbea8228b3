"""Parameters of a model's forward."""

import inspect
import re

from ..errors import refused

# TorchScript's types and Python's annotations that stand for one number.
SCALARS = {"int": int, "float": float, "bool": bool, "number": float, "Scalar": float}
# TorchScript's types that no tensor becomes.
OTHERS = re.compile(r"^(List|Tuple|Dict|Optional\[(List|Tuple|Dict)|NamedTuple|str$|__torch__)")
# Python's annotations that say of which type a tensor is.
TENSORS = {
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}


class Parameter:
    """One parameter of forward."""

    def __init__(self, name, kind="Tensor", required=True, default=None, by_name=False):
        self.name = name
        self.required = required
        self.default = default
        # True where forward takes it by its name alone.
        self.by_name = by_name
        self._dtype = TENSORS.get(kind.rpartition(".")[2])
        scalar = SCALARS.get(kind.replace("Optional[", "").rstrip("]"))
        # None for a tensor.
        self.convert = scalar and (lambda tensor: scalar(tensor.item()))

    def spec(self):
        """Its known facts for the server, which requires those that it knows completely."""
        return {"name": self.name, "dtype": self._dtype} if self._dtype and self.required else {"name": self.name}


def read_parameters(loaded):
    """Of a Loaded: TorchScript's schema, else what the exported file names, else forward's own signature."""
    schema = _schema_of(loaded.model)
    if schema is not None:
        # The first is the module itself, whatever its author calls it.
        return [_from_argument(each) for each in schema.arguments[1:]]
    if loaded.inputs is not None:
        return [Parameter(each["name"], each.pop("kind", "Tensor")) for each in loaded.inputs]
    return _from_signature(loaded.model.forward)


def _schema_of(model):
    try:
        return model.forward.schema
    except (AttributeError, RuntimeError):
        return None


def _from_argument(argument):
    optional = str(argument.type).startswith("Optional[") or argument.has_default_value()
    default = argument.default_value if argument.has_default_value() else None
    if not optional and OTHERS.match(str(argument.type)):
        raise refused(f'forward takes "{argument.name}" as a {argument.type}; requests carry tensors and numbers alone. Script a module around it that takes tensors.')
    return Parameter(argument.name, str(argument.type), not optional, default, argument.kwarg_only)


def _from_signature(forward):
    parameters = []
    for each in inspect.signature(forward).parameters.values():
        if each.kind == each.VAR_KEYWORD:
            continue
        if each.kind == each.VAR_POSITIONAL:
            # Any number: as many as people give in practice.
            parameters += [Parameter(f"input_{index}", required=False) for index in range(len(parameters), len(parameters) + MOST_POSITIONAL)]
            continue
        required = each.default is each.empty
        by_name = each.kind == each.KEYWORD_ONLY
        parameters.append(Parameter(each.name, _kind(each.annotation), required, None if required else each.default, by_name))
    return parameters


MOST_POSITIONAL = 16


def _kind(annotation):
    if annotation is inspect.Parameter.empty:
        return "Tensor"
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
