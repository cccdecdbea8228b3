"""The loop that answers the server's questions, one after the other."""

import importlib
import importlib.util
import os
import signal
import sys
import threading
import time

from .ending import end_process
from .errors import HostError, one_line, traceback_text
from .parent import end_with_parent
from .parts import END, open_parts
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
        # Answers of an event loop come from its thread.
        self._lock = threading.Lock()
        self._streams = {}

    def answer(self):
        """Reads one question and answers it, whatever comes of it."""
        question = self._frames.read()
        if question.message["op"] == "hooks":
            from .hooks.loop import serve as serve_hooks

            serve_hooks(self._frames, question)
        self._reply(question, lambda: self._run(question))

    def _reply(self, question, make):
        """Answers with what `make` returns, None for nothing yet, or with the error that it raises."""
        try:
            answer = make()
            if answer is not None:
                self._write(question, *answer)
        except SystemExit:
            raise
        except BaseException as error:
            # Panics of libraries in Rust and asyncio's cancelled tasks are no Exception; nothing is wrong with the process.
            self._write(question, {"error": _detail(self._to_failure(error))}, {})

    def close(self):
        """Lets the model close."""
        try:
            # Those of an event loop end meanwhile, in its thread.
            for parts, _ in list(self._streams.values()):
                parts.leave(lambda _, error: None)
            if self._framework is not None:
                self._framework.close()
        except BaseException as error:
            print(f"close failed: {one_line(error)}", file=sys.stderr)

    def _run(self, question):
        """Header of the answer, and the tensors after it; None if it comes later."""
        if question.failure is not None:
            raise question.failure
        message = question.message
        operation = message["op"]
        if operation == "ready":
            return {"result": sys.executable}, {}
        if operation == "predict":
            return {}, self._predict(message.get("outputs"), question)
        if operation in ("open", "next"):
            return self._next(question)
        if operation == "leave":
            return self._leave(question)
        if operation == "call":
            from . import handles

            result, tensors = handles.call(self._framework, message, question.tensors)
            return {"result": result}, tensors
        self._framework, facts = load(message)
        return {"result": facts}, {}

    def _predict(self, wanted, question):
        _check_deadline(question)
        return _pick(self._framework.predict(question.tensors, wanted), wanted)

    def _next(self, question):
        """Has a generator make its next part; the first one, if the question has inputs."""
        message = question.message
        if message["op"] == "open":
            _check_deadline(question)
            self._streams[question.context] = open_parts(self._framework.stream(question.tensors)), message.get("outputs")
        parts, wanted = self._streams[question.context]
        parts.next(lambda part, error: self._reply(question, lambda: self._part(question.context, part, error, wanted)))

    def _part(self, stream, part, error, wanted):
        """`result` is null behind the last part."""
        if part is END or error is not None:
            self._streams.pop(stream, None)
        if error is not None:
            raise HostError("internal", "The model failed: it called sys.exit()") if isinstance(error, SystemExit) else error
        if part is END:
            return {"result": None}, {}
        return {}, _pick(self._framework.by_name(part), wanted)

    def _leave(self, question):
        parts, _ = self._streams.pop(question.context, (None, None))
        if parts is None:
            return {}, {}
        parts.leave(lambda _, error: self._reply(question, lambda: _left(error)))

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
        with self._lock:
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


def _check_deadline(question):
    if question.deadline and 1000 * time.time() > question.deadline:
        raise HostError("deadline_exceeded", "The request's deadline passed.")


def _pick(outputs, wanted):
    """Those of the names; all for None."""
    if wanted is None:
        return outputs
    missing = [name for name in wanted if name not in outputs]
    if missing:
        raise HostError("invalid_argument", f'The model gave no output "{missing[0]}". It gave {", ".join(outputs)}.')
    return {name: outputs[name] for name in wanted}


def _left(error):
    """The answer once a generator has run its `finally`."""
    if error is not None:
        raise error
    return {}, {}


def _failure_of_run(framework, error):
    try:
        return framework.to_host_error(error)
    except Exception:
        # Of an error that cannot say what it is.
        return HostError("internal", f"The model failed: {one_line(error)}", traceback_text(error))


def _detail(failure):
    told = {"code": failure.code, "message": failure.message, "detail": failure.detail}
    return told if failure.hint is None else {**told, "hint": failure.hint}


def load(message):
    """A framework with its model loaded, and the facts that the server asked for."""
    from .framework import LoadRequest
    from .signature import describe
    from .user_module import add_import_paths

    framework_module = _import_framework(message["framework"], message["module"])
    sys.dont_write_bytecode = False
    add_import_paths(message["import_paths"], message.get("last_import_paths", ()))
    framework = framework_module.Framework(LoadRequest(message))
    framework.load()
    facts = {"signature": describe(framework), "python": sys.executable, "facts": framework.facts()}
    return framework, {**facts, "inParts": framework.in_parts, "atOnce": framework.at_once}


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
