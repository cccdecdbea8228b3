"""Errors of hooks as the server takes them: the client's text, and a traceback that begins in the hook file."""

import os
import traceback

from ..errors import OWN_FOLDER, HostError, one_line


class Aborted(HostError):
    """Raised by ctx.abort: the hook chose the client's status."""


class Refused(HostError):
    """Raised where the server refuses what a hook asks of it; its text needs nothing before it."""


class HookFailure(HostError):
    """What the client learns of a hook's error, and the log."""

    def __init__(self, place, error):
        if isinstance(error, (Aborted, Refused)):
            super().__init__(error.code, error.message, traceback_from(error))
        else:
            super().__init__("internal", f"The hook {place} failed: {text_of(error)}", traceback_from(error))


def to_wire(error):
    """Code, message and, for the log, the traceback."""
    if isinstance(error, HostError):
        return {"code": error.code, "message": error.message, "detail": error.detail}
    return {"code": "internal", "message": text_of(error), "detail": traceback_from(error)}


def text_of(error):
    """The client's text."""
    if isinstance(error, HostError):
        return error.message
    if isinstance(error, SystemExit):
        return "it called sys.exit(); raise an error instead"
    return one_line(error)


def traceback_from(error):
    """The traceback without the frames of this program that stand before the hooks' own; None where no hook ran."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(OWN_FOLDER):
        frame = frame.tb_next
    if frame is None:
        return None
    return "".join(traceback.format_exception(type(error), error, frame)).rstrip()


def place_of(error):
    """`hooks.py:12`, the innermost line of the user's own code."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(OWN_FOLDER)]
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else None
