"""Answers in parts: generators are asked for one part at a time, asynchronous ones in an event loop that all of them share."""

import asyncio
import inspect
import threading

from .errors import HostError

# What a generator gives behind its last part.
END = object()


def kind_of(function):
    """`sync` or `async` for a generator function, None for any other: it is known before it is called."""
    for each in (function, getattr(type(function), "__call__", None)):
        if inspect.isgeneratorfunction(each):
            return "sync"
        if inspect.isasyncgenfunction(each):
            return "async"
    return None


def is_parts(value):
    """Checks for a generator, or another iterator: what makes the parts of an answer."""
    return hasattr(value, "__next__") or hasattr(value, "__aiter__")


def each_answer(parts, change):
    """A generator of what becomes of each part; asynchronous if the parts are."""
    return _each_async(parts, change) if hasattr(parts, "__aiter__") else _each(parts, change)


def _each(parts, change):
    try:
        for part in parts:
            yield change(part)
    finally:
        getattr(parts, "close", _nothing)()


async def _each_async(parts, change):
    try:
        async for part in parts:
            yield change(part)
    finally:
        if hasattr(parts, "aclose"):
            await parts.aclose()


def open_parts(generator):
    """The parts of a generator that has not begun, or of any iterator. The task of an asynchronous one has a copy of the caller's context."""
    return AsyncParts(generator) if hasattr(generator, "__aiter__") else Parts(generator)


class Parts:
    """A generator's parts. The answers go to the functions given, which any thread may call, but only one at a time."""

    def __init__(self, generator):
        self._generator = generator
        self._is_running = False
        self._is_left = False

    def next(self, tell):
        """Calls tell(part, None), tell(END, None) behind the last part, or tell(None, error)."""
        self._is_running = True
        try:
            part, error = next(self._generator), None
        except StopIteration as end:
            part, error = END, _late_value(end.value)
        except BaseException as failure:
            part, error = None, failure
        self._is_running = False
        if self._is_left:
            self._close()
        tell(part, error)

    def leave(self, tell):
        """Has it run its `finally`, and calls tell(None, None) or tell(None, error). One that computes is closed behind its part."""
        self._is_left = True
        try:
            if not self._is_running:
                self._close()
        except BaseException as failure:
            tell(None, failure)
            return
        tell(None, None)

    def _close(self):
        # Iterators other than generators need not have it.
        getattr(self._generator, "close", _nothing)()


class AsyncParts:
    """The same of an asynchronous generator: one task runs all of it, as timeouts and groups of tasks around a yield need it."""

    def __init__(self, generator):
        self._generator = generator.__aiter__()
        self._is_left = False
        self._loop = _loops.get()
        self._loop.call_soon_threadsafe(self._begin)

    def next(self, tell):
        """As of Parts; `tell` is called in the thread of the event loop."""
        self._loop.call_soon_threadsafe(lambda: self._asked.put_nowait(tell))

    def leave(self, tell):
        """As of Parts. What it awaits is cancelled."""
        self._loop.call_soon_threadsafe(self._leave, tell)

    def _begin(self):
        self._asked = asyncio.Queue()
        self._task = self._loop.create_task(self._run())

    def _leave(self, tell):
        self._is_left = True
        self._task.add_done_callback(lambda task: self._end(task, tell))
        self._task.cancel()

    def _end(self, task, tell):
        # A task that is cancelled in the turn of the loop in which it was asked leaves the question in its queue.
        while not self._asked.empty():
            self._asked.get_nowait()(None, asyncio.CancelledError())
        tell(None, None if task.cancelled() else task.exception())

    async def _run(self):
        try:
            while not self._is_left:
                tell = await self._asked.get()
                try:
                    part, error = await self._generator.__anext__(), None
                except StopAsyncIteration:
                    part, error = END, None
                except BaseException as failure:
                    part, error = None, failure
                tell(part, error)
                if part is END or error is not None:
                    return
        finally:
            if hasattr(self._generator, "aclose"):
                await self._generator.aclose()


class _Loops:
    """The event loop of this process, in its own thread; none before it is needed."""

    def __init__(self):
        self._lock = threading.Lock()
        self._loop = None

    def get(self):
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
            return self._loop


_loops = _Loops()


def _nothing():
    pass


def _late_value(value):
    """The error of a generator that returns what it should have yielded."""
    if value is None:
        return None
    kind = type(value).__name__
    return HostError("internal", f"it returned a {kind} at its end; the parts of an answer are what it yields: write yield in place of return")
