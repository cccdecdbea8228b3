"""Both directions of the server's connection: what it asks of the hooks, and what hooks ask of it."""

import collections
import os
import queue
import threading
import traceback

from ..frames import Closed
from .failures import Refused

# Numbers of questions that this side asks have this bit.
OWN_BIT = 0x80000000


class Connection:
    """Any thread may ask and answer; one thread reads, so that threads of the hooks' own may ask while a hook runs."""

    def __init__(self, frames, own_slots):
        self.questions = queue.SimpleQueue()
        # Takes each question in the thread that reads.
        self.take = self.questions.put
        self._frames = frames
        self._lock = threading.Lock()
        self._free = list(own_slots)
        self._told = collections.deque()
        self._waiting = {}
        self._last = 0
        self._pid = os.getpid()

    def read(self):
        """Reads until the server closes its end; then the questions end with None."""
        try:
            while True:
                frame = self._frames.read()
                waiter = self._waiting.pop(frame.id, None) if frame.id & OWN_BIT else None
                if waiter is not None:
                    waiter.put(frame)
                elif not frame.id & OWN_BIT:
                    self.take(frame)
        except (Closed, OSError):
            self.questions.put(None)
        except BaseException:
            # For want of memory: no other thread reads, and all would wait for ever.
            traceback.print_exc()
            os._exit(1)

    def answer(self, question, header, tensors):
        """Answers the server."""
        if os.getpid() != self._pid:
            # A hook has forked, and this is the child, which has come back into a loop that is not its own.
            os._exit(0)
        with self._lock:
            self._frames.write(question, header, tensors)
        self._send_told()

    def tell(self, header):
        """Asks the server what nothing waits for. The garbage collector may do so in any thread, also in one that writes, or that reads the answers."""
        if os.getpid() == self._pid:
            self._told.append(header)
            self._send_told()

    def _send_told(self):
        """Whoever writes meanwhile sends it behind that."""
        while self._told and self._lock.acquire(blocking=False):
            try:
                while self._told:
                    self._frames.write(self._new_call(-1), {**self._told.popleft(), "slot": -1}, {})
            finally:
                self._lock.release()

    def _new_call(self, slot):
        self._last = (self._last + 1) % OWN_BIT
        return OwnCall(OWN_BIT | self._last, slot)

    def ask(self, header, tensors):
        """Asks the server, and waits: its answer's result and tensors. Raises HostError where it refuses."""
        waiter = queue.SimpleQueue()
        with self._lock:
            call = self._new_call(self._free.pop() if self._free else -1)
            self._waiting[call.id] = waiter
            try:
                self._frames.write(call, {**header, "slot": call.slot}, tensors)
            except BaseException:
                self._forget(call)
                raise
        self._send_told()
        answer = waiter.get()
        with self._lock:
            self._forget(call)
        error = answer.message.get("error")
        if error is not None:
            raise Refused(error["code"], error["message"])
        if answer.failure is not None:
            raise answer.failure
        return answer.message.get("result"), answer.tensors

    def _forget(self, call):
        self._waiting.pop(call.id, None)
        if call.slot >= 0:
            self._free.append(call.slot)


class OwnCall:
    """A question of this side; the server's answer lies in the same slot, behind it."""

    __slots__ = ("id", "slot", "end")

    def __init__(self, id, slot):
        self.id = id
        self.slot = slot
        self.end = 0
