"""Interface of each module of `frameworks/`: a class `Framework` with these methods."""

import difflib
import re

import numpy as np

from . import outputs
from .errors import HostError, invalid, listed, missing_input, one_line, traceback_text

# How frameworks say it whose failed allocations are no MemoryError: torch's allocators, C++.
NO_MEMORY = re.compile(r"(can't|cannot|failed to) allocate|out of memory|bad_alloc", re.I)


class LoadRequest:
    """A model to load: a path, the driver's options, and the user's declarations of inputs and outputs."""

    def __init__(self, message):
        self.path = message["path"]
        self.options = message["options"]
        self.inputs = message.get("inputs")
        self.outputs = message.get("outputs")
        self.threads = message["threads"]


class BaseFramework:
    """Loads one model. `inputs` and `outputs` are specs (name, and dtype and shape where they are known), or None where even names are not."""

    # Whether predicting on zeros tells the outputs without harm.
    dry_runs = True
    # Whether it takes rows of features, or columns of them: texts beside numbers, of which some may be missing.
    is_tabular = False
    # Whether it answers in parts, by `stream`; and whether it also answers at once, by `predict`.
    in_parts = False
    at_once = True

    def __init__(self, request):
        self.request = request
        self.inputs = request.inputs
        self.outputs = None
        self.model = None
        self.model_class = None

    def load(self):
        """Sets `model`, and what is known of inputs and outputs."""
        raise NotImplementedError

    def predict(self, inputs, wanted):
        """Outputs by name, as arrays; `wanted` names those that are needed, None all."""
        raise NotImplementedError

    def stream(self, inputs):
        """What makes the parts of an answer, for `by_name`: an iterator, or an asynchronous one."""
        raise NotImplementedError

    def to_array(self, value):
        """Turns a leaf into an array that `arrays.to_bytes` takes."""
        return value

    def from_array(self, name, array):
        """Turns an array into a value that the framework takes."""
        return array

    def is_leaf(self, value):
        """Checks that a value is one output by itself."""
        return isinstance(value, (np.ndarray, np.generic, bool, int, float, complex, str, bytes))

    def is_callers_fault(self, error):
        """Checks if an error says that the inputs do not fit."""
        return False

    def message_of(self, error):
        """Text of an error for clients."""
        return one_line(error)

    def likely_dtypes(self):
        """For inputs of which only a shape is known, most likely first."""
        return ["float32"]

    def suggested(self):
        """Inputs as clients may send them, for a model that takes any names and numbers; None where nothing is known of them."""
        return None

    def likely(self):
        """For inputs of which not even a dtype is known: lists of specs with which the model probably runs, the likeliest first."""
        return []

    def is_pure(self):
        """True where a run leaves nothing behind, so that it may be tried."""
        return False

    def facts(self):
        """Facts about the model for hooks and the log: plain data."""
        return {}

    def close(self):
        """Frees what the model holds."""

    def by_name(self, value):
        """The leaves of what a model returned, named."""
        names = self.request.outputs
        return {name: self.to_array(leaf) for name, leaf in outputs.name_outputs(value, self.is_leaf, names).items()}

    def check_names(self, inputs, required, known, passes_over=False):
        """For models whose inputs have names but no dtypes, which the server therefore does not check. With `passes_over` other names may be there, but for one that is nearly that of an input which is not."""
        missing = [name for name in known if name not in inputs]
        of_model = set(known)
        for name in [name for name in inputs if name not in of_model]:
            meant = difflib.get_close_matches(name, missing, 1)
            if meant or not passes_over:
                hint = f' Did you mean "{meant[0]}"?' if meant else ""
                near = {"did_you_mean": meant[0]} if meant else {}
                raise invalid(f'The model has no input "{name}".{hint} It has {", ".join(known)}.', reason="UNKNOWN_INPUT", field=name, expected=listed(known), **near)
        for name in required:
            if name not in inputs:
                raise missing_input(name, known)

    def to_host_error(self, error):
        """The error of a failed run."""
        if isinstance(error, HostError):
            return error
        code = "invalid_argument" if self.is_callers_fault(error) else "internal"
        what = "refuses the inputs" if code == "invalid_argument" else "failed"
        if isinstance(error, MemoryError) or NO_MEMORY.search(str(error)):
            code, what = "resource_exhausted", "needs more memory than there is"
        return HostError(code, f"The model {what}: {self.message_of(error)}", traceback_text(error))


def one_input(inputs):
    """The array of a model that takes one, whatever its name."""
    if len(inputs) == 1:
        return next(iter(inputs.values()))
    raise invalid(f"The model takes one input; {len(inputs)} came: {', '.join(inputs)}.")
