"""What the server tells clients of a model."""

import sys

import numpy as np

from . import arrays


def describe(framework):
    """inputs and outputs for the server; specs without a dtype are left to names alone."""
    inputs = framework.inputs
    if framework.outputs is None and framework.dry_runs and _is_complete(inputs):
        framework.outputs = _dry_run(framework, inputs)
    return {"inputs": inputs, "outputs": framework.outputs}


def _is_complete(inputs):
    return bool(inputs) and all(each.get("dtype") not in (None, "bytes") and each.get("shape") is not None for each in inputs)


def _dry_run(framework, inputs):
    try:
        one = _run(framework, inputs, 1)
    except Exception as error:
        print(f"the model did not run on zeros of the shapes given: {framework.to_host_error(error).message}", file=sys.stderr)
        return None
    try:
        two = _run(framework, inputs, 2)
    except Exception:
        # Sizes that were free depend on each other: which ones the outputs follow is not known.
        return [{"name": name, "dtype": dtype} for name, (dtype, _) in one.items()]
    return [{"name": name, "dtype": dtype, "shape": _free(shape, two.get(name, (None, ()))[1])} for name, (dtype, shape) in one.items()]


def _run(framework, inputs, size):
    given = {each["name"]: _zeros(each, size) for each in inputs}
    found = {name: arrays.to_bytes(name, value) for name, value in framework.predict(given, None).items()}
    return {name: (dtype, list(shape)) for name, (dtype, shape, _) in found.items()}


def _zeros(spec, size):
    shape = [size if each == -1 else each for each in spec["shape"]]
    if spec["dtype"] == "bfloat16":
        return arrays.Bits(np.zeros(shape, np.uint16))
    return np.zeros(shape, spec["dtype"])


def _free(one, two):
    """-1 where the size follows that of the inputs."""
    return [a if a == b else -1 for a, b in zip(one, two)] if len(one) == len(two) else None
