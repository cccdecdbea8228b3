"""A model's inputs and outputs, as the server reports them to clients."""

import sys

import numpy as np

from . import arrays


def describe(framework):
    """inputs and outputs for the server; specs without a dtype are left to names alone."""
    if framework.outputs is None and framework.dry_runs and _have_shapes(framework.inputs):
        framework.inputs, framework.outputs = _try_dtypes(framework)
    return {
        "inputs": framework.inputs,
        "outputs": framework.outputs,
        "suggested": framework.suggested(),
        "likely": framework.likely(),
        "isPure": framework.is_pure(),
        "isTabular": framework.is_tabular,
    }


def _have_shapes(inputs):
    return bool(inputs) and all(each.get("dtype") != "bytes" and each.get("shape") is not None for each in inputs)


def _try_dtypes(framework):
    """Inputs without a dtype get the first one with which the model runs."""
    given = framework.inputs
    known = all(each.get("dtype") for each in given)
    failure = None
    for dtype in [None] if known else framework.likely_dtypes():
        inputs = [{**each, "dtype": each.get("dtype") or dtype} for each in given]
        try:
            return inputs, _dry_run(framework, inputs)
        except Exception as error:
            failure = failure or framework.to_host_error(error)
    print(f"the model did not run on zeros of the shapes given: {failure.message}", file=sys.stderr)
    return given, None


def _dry_run(framework, inputs):
    one = _run(framework, inputs, 1)
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
