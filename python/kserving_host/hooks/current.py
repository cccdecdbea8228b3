"""The request whose hook runs in this thread, and the process's way to the server: for modules that hooks import."""

import contextvars

# Of each thread, and of each task of an event loop.
_context = contextvars.ContextVar("ctx", default=None)
_process = {"ask": None}


def set_server(ask):
    """How to ask the server."""
    _process["ask"] = ask


def set_context(ctx):
    """The context of the hook that this thread, or task, runs next; None after it."""
    _context.set(ctx)


def current_context():
    """ctx of the hook that this thread runs."""
    ctx = _context.get()
    if ctx is None:
        raise RuntimeError("this works in a hook alone, in the thread that runs it")
    return ctx


def load_model(driver, path, options):
    """A model that the server loads for these hooks."""
    from .models import Driver

    result, _ = _process["ask"]({"call": "load", "driver": driver, "path": path, "options": options, "request": request_number()}, {})
    return Driver(result["facts"], _process["ask"], None, result["number"])


def request_number():
    """Number of the request whose hook this thread runs; 0 = none."""
    ctx = _context.get()
    return 0 if ctx is None else ctx._kserving.number
