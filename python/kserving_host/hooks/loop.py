"""Runs hooks one at a time; while one waits for a model, another may run.

The server decides who is next: it sends a question, or the answer to one of ours, only when no hook computes. So each waiting hook keeps a thread, as a stack.
"""

import sys
import threading

from ..ending import end_process
from ..errors import one_line
from . import failures
from .connection import Connection
from .file import HookFile


def serve(frames, first):
    """Answers until the server closes its end, beginning with the question that names the hook file."""
    connection = Connection(frames, first.message["ownSlots"])
    loop = Loop(connection, HookFile(first.message))
    threading.Thread(target=connection.read, daemon=True).start()
    loop.run(first)
    loop.close()
    end_process()


class Loop:
    """The threads that run hooks."""

    def __init__(self, connection, hooks):
        self._connection = connection
        self._hooks = hooks
        self._lock = threading.Lock()
        self._idle = 0
        self._runners = set()
        hooks.ask = self.ask
        hooks.streams.reply = self._reply
        connection.take = self._take

    def run(self, question=None):
        """Answers questions until there are no more."""
        self._runners.add(threading.get_ident())
        while True:
            if question is None:
                question = self._next()
            if question is None:
                self._connection.questions.put(None)
                return
            self._reply(question, lambda: self._hooks.answer(question))
            question = None

    def _take(self, question):
        """What an event loop runs has no place in the line, and keeps its order."""
        if question.message.get("beside"):
            self._reply(question, lambda: self._hooks.answer(question))
        else:
            self._connection.questions.put(question)

    def ask(self, header, tensors):
        """What hooks ask of the server. A hook that waits lets others run; a thread of its own does not keep the hook's place. To leave the parts of a model has no answer."""
        if header["call"] == "leave":
            self._connection.tell({**header, "waits": False})
            return None, {}
        waits = threading.get_ident() in self._runners
        if waits:
            self._make_room()
        return self._connection.ask({**header, "waits": waits}, tensors)

    def close(self):
        """Lets the hooks end."""
        try:
            self._hooks.close()
        except BaseException as error:
            print(f"close_hook failed: {one_line(error)}", file=sys.stderr)

    def _next(self):
        with self._lock:
            self._idle += 1
        question = self._connection.questions.get()
        with self._lock:
            self._idle -= 1
        return question

    def _make_room(self):
        """There is always a thread for the next question."""
        with self._lock:
            if self._idle > 0:
                return
        threading.Thread(target=self.run, daemon=True).start()

    def _reply(self, question, make):
        """Answers with what `make` returns, None for nothing, or with the error that it raises."""
        try:
            if question.failure is not None:
                raise question.failure
            answer = make()
            if answer is None:
                return
            self._connection.answer(question, *answer)
        except BaseException as error:
            self._connection.answer(question, {"error": failures.to_wire(error)}, {})
