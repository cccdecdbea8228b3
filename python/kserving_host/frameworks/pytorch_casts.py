"""Other dtypes for inputs that declare none: clients' JSON has whole numbers for floats, and TorchScript does not say what it takes."""

import itertools
import re

import torch

# How torch says that an operation does not take a dtype, or not beside another.
DTYPE_FAULT = re.compile(r"dtype|scalar type|not implemented for|Input type|can't be cast|must be (long|int|bool)|boolean|(Long|Int|Float|Double|Half|Bool|Byte)Tensor")
MOST_TRIES = 32


def is_dtype_fault(error):
    """Whether a run failed by the dtype of an input."""
    return isinstance(error, (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError)) and DTYPE_FAULT.search(str(error)) is not None


def casts_for(tensors, floats):
    """Dicts of dtypes by name under which the numbers stay what they are, the fewest changes first."""
    choices = [[(name, dtype) for dtype in (None, *_others(tensor, floats))] for name, tensor in tensors.items()]
    every = itertools.islice(itertools.product(*choices), 1, 8 * MOST_TRIES)
    found = [{name: dtype for name, dtype in choice if dtype is not None} for choice in every]
    return sorted(found, key=len)[:MOST_TRIES]


def cast(tensors, casts):
    """The tensors in these dtypes; as they came where one does not hold a number."""
    if not all(_holds(tensors[name], dtype) for name, dtype in casts.items()):
        return tensors
    return {**tensors, **{name: tensors[name].to(dtype) for name, dtype in casts.items()}}


def _others(tensor, floats):
    return [dtype for dtype in (floats, torch.int64, torch.bool) if dtype != tensor.dtype and _holds(tensor, dtype)]


def _holds(tensor, dtype):
    """Floats are rounded, as everywhere, but never become whole numbers: those are indices, and floats where they are expected a mistake."""
    if dtype.is_floating_point:
        return not tensor.is_complex()
    if tensor.is_floating_point() or tensor.is_complex():
        return False
    return dtype != torch.bool or bool(((tensor == 0) | (tensor == 1)).all())
