"""What a model's forward takes."""

import inspect

# TorchScript's types and Python's annotations that stand for one number.
SCALARS = {"int": int, "float": float, "bool": bool, "number": float, "Scalar": float}


class Parameter:
    """One parameter of forward."""

    def __init__(self, name, kind="Tensor", required=True, default=None):
        self.name = name
        self.required = required
        self.default = default
        scalar = SCALARS.get(kind.replace("Optional[", "").rstrip("]"))
        self.convert = (lambda tensor: scalar(tensor.item())) if scalar else (lambda tensor: tensor)


def read_parameters(loaded):
    """Of a Loaded: TorchScript's schema, else what the exported file names, else forward's own signature."""
    schema = _schema_of(loaded.model)
    if schema is not None:
        return [_from_argument(each) for each in schema.arguments if each.name != "self"]
    if loaded.inputs is not None:
        return [Parameter(each["name"]) for each in loaded.inputs]
    return _from_signature(loaded.model.forward)


def _schema_of(model):
    try:
        return model.forward.schema
    except (AttributeError, RuntimeError):
        return None


def _from_argument(argument):
    optional = str(argument.type).startswith("Optional[") or argument.has_default_value()
    default = argument.default_value if argument.has_default_value() else None
    return Parameter(argument.name, str(argument.type), not optional, default)


def _from_signature(forward):
    parameters = []
    for each in inspect.signature(forward).parameters.values():
        if each.kind == each.VAR_KEYWORD or each.kind == each.KEYWORD_ONLY:
            continue
        if each.kind == each.VAR_POSITIONAL:
            # Any number: as many as people give in practice.
            parameters += [Parameter(f"input_{index}", required=False) for index in range(len(parameters), len(parameters) + MOST_POSITIONAL)]
            continue
        required = each.default is each.empty
        parameters.append(Parameter(each.name, _kind(each.annotation), required, None if required else each.default))
    return parameters


MOST_POSITIONAL = 16


def _kind(annotation):
    if annotation is inspect.Parameter.empty:
        return "Tensor"
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
