"""Hooks that answer in parts, and are asked for one after the other."""

from ..errors import HostError
from ..parts import END, open_parts
from . import current, failures
from .values import pack_values


class Streams:
    """The generators under way, by their request and place."""

    def __init__(self):
        self.reply = None
        self._streams = {}

    def open(self, question, hook, values, ctx, pack_answer=None):
        """Begins a generator, and has it make its first part. Its parts are values by name, or what `pack_answer` takes."""
        message = question.message
        current.set_context(ctx)
        try:
            parts = open_parts(hook(values, ctx, ctx._kserving.drivers[message["stage"]].args))
        except BaseException as error:
            # Of its arguments: its own lines run with its first part.
            raise failures.HookFailure(message["place"], error) from error
        finally:
            current.set_context(None)
        json, request = message.get("json", False), ctx._kserving

        def pack(part, number):
            place = f"its part {number}"
            result, tensors = pack_values(part, {}, json, f"{place} is") if pack_answer is None else pack_answer(part, place)
            return {**({} if result is None else {"result": result}), **request.additions()}, tensors

        stream = Stream(parts, message["place"], pack, ctx)
        self._streams[_key(question)] = stream
        self._next(question, stream)

    def begin(self, question, parts, place, pack):
        """Begins what makes the parts of a body, which are asked for later; tells its kind, as kind_of does."""
        self._streams[_key(question)] = Stream(open_parts(parts), place, pack, None)
        return "async" if hasattr(parts, "__aiter__") else "sync"

    def next(self, question):
        """Has it make its next part."""
        self._next(question, self._streams[_key(question)])

    def leave(self, question):
        """Ends one before its time. One that has ended is not known any more."""
        stream = self._streams.pop(_key(question), None)
        if stream is None:
            self.reply(question, lambda: ({}, {}))
            return
        current.set_context(stream.ctx)
        try:
            stream.parts.leave(lambda _, error: self.reply(question, lambda: stream.end(error)))
        finally:
            current.set_context(None)

    def drop(self, context):
        """Ends those of a request that is over: nobody has begun them."""
        for key in [each for each in list(self._streams) if each[0] == context]:
            stream = self._streams.pop(key, None)
            if stream is not None:
                stream.parts.leave(lambda _, error: None)

    def close(self):
        """Ends those that are left, as the process does."""
        for stream in list(self._streams.values()):
            stream.parts.leave(lambda _, error: None)

    def _next(self, question, stream):
        current.set_context(stream.ctx)
        if stream.ctx is not None:
            stream.ctx.part = stream.count or None
        try:
            stream.parts.next(lambda part, error: self.reply(question, lambda: self._pack(question, stream, part, error)))
        finally:
            current.set_context(None)

    def _pack(self, question, stream, part, error):
        if part is END or error is not None:
            self._streams.pop(_key(question), None)
        return stream.pack(part, error)


class Stream:
    """One generator; `pack` makes header and tensors of a part and its number."""

    def __init__(self, parts, place, pack, ctx):
        self.parts = parts
        self.ctx = ctx
        self.count = 0
        self._place = place
        self._pack = pack

    def pack(self, part, error):
        """Header and tensors of the answer with the next part; `result` is null behind the last one."""
        try:
            if error is not None:
                raise error
            if self.ctx is not None:
                self.ctx._kserving.raise_chosen()
        except BaseException as failure:
            raise failures.HookFailure(self._place, failure) from failure
        if part is END:
            return {"result": None}, {}
        self.count += 1
        try:
            return self._pack(part, self.count)
        except HostError as failure:
            raise failures.HookFailure(self._place, failure) from None

    def end(self, error):
        """The answer once it has run its `finally`."""
        if error is not None:
            raise failures.HookFailure(self._place, error) from error
        return {}, {}


def _key(question):
    return question.context, question.message["hook"], question.message["stage"]
