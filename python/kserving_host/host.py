"""The loop that answers the server's questions, one after the other."""

import importlib
import importlib.util
import os
import signal
import sys
import time

from .ending import end_process
from .errors import HostError, one_line, traceback_text
from .parent import end_with_parent
from .signals import pass_over_signals

LIFE_FD = 0


def serve(frames_fd, slots):
    """Answers until the server closes its end."""
    _guard([frames_fd, *slots])
    if importlib.util.find_spec("numpy") is None:
        sys.exit(f"{sys.executable} has no module numpy")
    from .frames import Closed, Frames

    host = Host(Frames(frames_fd, slots))
    try:
        while True:
            host.answer()
    except Closed:
        host.close()
    end_process()


class Host:
    """One model, and the server that asks it."""

    def __init__(self, frames):
        self._frames = frames
        self._framework = None
        self._pid = os.getpid()

    def answer(self):
        """Reads one question and answers it, whatever comes of it."""
        question = self._frames.read()
        if question.message["op"] == "hooks":
            from .hooks.loop import serve as serve_hooks

            serve_hooks(self._frames, question)
        try:
            self._write(question, *self._run(question))
        except SystemExit:
            raise
        except BaseException as error:
            # Panics of libraries in Rust and asyncio's cancelled tasks are no Exception; nothing is wrong with the process.
            self._write(question, {"error": _detail(self._to_failure(error))}, {})

    def close(self):
        """Lets the model close."""
        try:
            if self._framework is not None:
                self._framework.close()
        except BaseException as error:
            print(f"close failed: {one_line(error)}", file=sys.stderr)

    def _run(self, question):
        """Header of the answer, and the tensors after it."""
        if question.failure is not None:
            raise question.failure
        message = question.message
        operation = message["op"]
        if operation == "ready":
            return {"result": sys.executable}, {}
        if operation == "predict":
            return {}, self._predict(message.get("outputs"), question)
        if operation == "call":
            from . import handles

            result, tensors = handles.call(self._framework, message, question.tensors)
            return {"result": result}, tensors
        self._framework, facts = load(message)
        return {"result": facts}, {}

    def _predict(self, wanted, question):
        if question.deadline and 1000 * time.time() > question.deadline:
            raise HostError("deadline_exceeded", "The request's deadline passed.")
        outputs = self._framework.predict(question.tensors, wanted)
        if wanted is None:
            return outputs
        missing = [name for name in wanted if name not in outputs]
        if missing:
            raise HostError("invalid_argument", f'The model gave no output "{missing[0]}". It gave {", ".join(outputs)}.')
        return {name: outputs[name] for name in wanted}

    def _to_failure(self, error):
        if isinstance(error, HostError):
            return error
        if self._framework is not None:
            return _failure_of_run(self._framework, error)
        return HostError("failed_precondition", one_line(error), traceback_text(error))

    def _write(self, question, header, tensors):
        if os.getpid() != self._pid:
            # The model has forked, and this is the child, which has come back into a loop that is not its own.
            os._exit(0)
        try:
            self._frames.write(question, header, tensors)
        except OSError:
            raise
        except Exception as error:
            self._frames.write(question, {"error": _detail(self._to_fault(error))}, {})

    def _to_fault(self, error):
        """The failure of an answer that cannot be written: whatever was raised, the caller had no part in it."""
        failure = self._to_failure(error)
        if isinstance(error, HostError) or failure.code != "invalid_argument":
            return failure
        return HostError("internal", f"The model gave what cannot be sent: {one_line(error)}", failure.detail)


def _failure_of_run(framework, error):
    try:
        return framework.to_host_error(error)
    except Exception:
        # Of an error that cannot say what it is.
        return HostError("internal", f"The model failed: {one_line(error)}", traceback_text(error))


def _detail(failure):
    return {"code": failure.code, "message": failure.message, "detail": failure.detail}


def load(message):
    """A framework with its model loaded, and the facts that the server asked for."""
    from .framework import LoadRequest
    from .signature import describe
    from .user_module import add_import_paths

    framework_module = _import_framework(message["framework"], message["module"])
    sys.dont_write_bytecode = False
    add_import_paths(message["import_paths"])
    framework = framework_module.Framework(LoadRequest(message))
    framework.load()
    return framework, {"signature": describe(framework), "python": sys.executable, "facts": framework.facts()}


def _import_framework(name, needed):
    where = f"{sys.executable} (Python {sys.version.split()[0]})"
    if importlib.util.find_spec(needed) is None:
        raise HostError("unimplemented", f"{where} has no module {needed}")
    try:
        return importlib.import_module(f".frameworks.{name}", __package__)
    except Exception as error:
        raise HostError("unimplemented", f"{where} cannot import {needed}: {one_line(error)}", traceback_text(error)) from error


def _guard(fds):
    """Keeps the server's descriptors from the model, from what it starts and what it forks; standard input is at its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pass_over_signals()
    life = os.dup(LIFE_FD)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, LIFE_FD)
    os.close(null)
    for fd in fds:
        os.set_inheritable(fd, False)
    if hasattr(os, "register_at_fork"):
        # Blocked meanwhile, since a signal that comes before the child has its own handler would be lost.
        os.register_at_fork(
            before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]),
            after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM]),
            after_in_child=lambda: _leave([life, *fds]),
        )
    end_with_parent(life)


def _leave(fds):
    """In a forked process: it ends at SIGTERM, as pools of processes expect, and has nothing of the server."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    for fd in fds:
        try:
            os.close(fd)
        except OSError:
            pass
