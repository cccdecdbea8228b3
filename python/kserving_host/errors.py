"""The one error that crosses to the server."""

import os
import traceback

LAST_LINES = 3
# Up to here numbers of JSON are whole in the server.
MOST_SAFE = 2**53
MOST_NAMES = 10
OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))


class HostError(Exception):
    """Told to the server as a gRPC code name and a message for the client; `detail` goes to the server's log alone, `hint` to clients that are programs: the `reason`, and what is `expected` of which `field`."""

    def __init__(self, code, message, detail=None, hint=None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail
        self.hint = hint


def invalid(message, **hint):
    """The caller's fault."""
    return HostError("invalid_argument", message, hint=hint or None)


def missing_input(name, known):
    """A request without an input, or a column, that the model needs."""
    return invalid(f'Input "{name}" is missing. The model takes {", ".join(known)}.', reason="MISSING_INPUT", field=name, expected=listed(known))


def listed(names):
    """Names in a hint, in the form that the server gives them."""
    known = list(names)
    more = len(known) - MOST_NAMES
    return ", ".join(known[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def refused(message, cause=None):
    """A model, or an installation, that cannot be served."""
    return HostError("failed_precondition", message, cause and traceback_text(cause))


def traceback_text(error):
    """The whole traceback, for the log."""
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def one_line(error):
    """`TypeError: what it says`, as Python prints it last."""
    try:
        text = str(error).strip()
    except Exception:
        # Of a class whose own __str__ fails.
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def last_lines(error):
    """Place where the user's code failed: the last lines of the traceback, without the folders of its files."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(OWN_FOLDER)]
    places = [f"{os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames[-LAST_LINES:]]
    return "; ".join([*places, one_line(error)])
