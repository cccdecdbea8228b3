"""Frames to and from the server: a prefix, a JSON header, a body; little endian.

The prefix has what changes from one question to the next (see PREFIX), so that headers of questions for tensors of the same shapes are the same bytes, which are read once.
A tensor's bytes are in the body, padded to 8, or in the file of the slot that the question holds: files in memory, read and written by position,
since a mapped file would end this process with SIGBUS where memory for it runs out, and would change under a model that keeps its input.
"""

import json
import os
import struct
import sys

import numpy as np

from . import arrays
from .errors import HostError, invalid

# Bytes of the header, the question's number, bytes of the body, deadline in milliseconds since 1970 or 0, slot or -1, number of the request that a hook runs for.
PREFIX = struct.Struct("<IIQdiI")
CHUNK = 1 << 16
# From here on the file costs less than the pipe.
SLOT_BYTES = 1 << 16
# Linux moves at most 2 GiB a call.
MOVE_BYTES = 1 << 30
# Bytes of a frame at most, with its tensors in the slot: the server passes over larger ones.
MOST_FRAME_BYTES = 1 << 31
# Headers, and texts of headers, that are remembered: those of as many combinations of shapes.
MOST_HEADERS = 64
MOST_BYTES = 4096
# Members of headers that nobody changes.
READ_ONLY = ("tensors", "outputs")

# Without NaN and infinities, for which JSON has no words.
to_json = json.JSONEncoder(check_circular=False, allow_nan=False, separators=(",", ":")).encode


class Closed(Exception):
    """The server has closed its end, or is gone."""


class Header:
    """Content of a request's header; `end` is where its tensors end in the slot's file."""

    def __init__(self, message):
        self.message = message
        self.specs = message.get("tensors", ())
        self.end = max((_align(offset + size) for _, _, _, size, offset in self.specs if offset >= 0), default=0)

    def may_be_shared(self):
        """Values and facts of a request are its own: whoever gets them may change them."""
        return not any(isinstance(value, (dict, list)) for name, value in self.message.items() if name not in READ_ONLY)


class Question:
    """One question: its number, what its header says, and tensors by name; `failure` says why a tensor could not be made."""

    __slots__ = ("id", "slot", "deadline", "context", "message", "tensors", "end", "failure")

    def __init__(self, prefix, header, tensors):
        _, self.id, _, self.deadline, self.slot, self.context = prefix
        self.failure = None
        self.message = header.message
        self.tensors = tensors
        self.end = header.end


class Frames:
    """The server's end of things; one thread asks at a time."""

    def __init__(self, fd, slots):
        self._fd = fd
        self._slots = slots
        self._buffer = b""
        self._headers = {}
        self._texts = {}

    def read(self):
        """The next question."""
        prefix = PREFIX.unpack(self._take(PREFIX.size))
        header_size, _, body_size, _, slot, _ = prefix
        if header_size + body_size > MOST_FRAME_BYTES:
            sys.exit(f"the server sent a frame of {header_size + body_size} bytes; expected {MOST_FRAME_BYTES} at most")
        header = self._header(self._take(header_size))
        body = memoryview(bytearray(self._take(body_size)) if body_size <= CHUNK else self._take_large(body_size))
        tensors, start, failure = {}, 0, None
        for name, dtype, shape, size, offset in header.specs:
            if offset >= 0:
                data = self._read_slot(slot, offset, size)
            else:
                data = body[start : start + size]
                start += (size + 7) & ~7
            try:
                tensors[name] = arrays.from_bytes(dtype, shape, data)
            except ValueError as error:
                # numpy has fewer dimensions than requests, and smaller ones.
                failure = failure or invalid(f'Input "{name}" of {len(shape)} dimensions is no array for numpy: {error}.')
        question = Question(prefix, header, tensors)
        question.failure = failure
        return question

    def write(self, question, header, tensors):
        """Answers; large tensors go to the slot's file behind those of the question, where that has room."""
        specs, parts, offset, total = [], [], question.end, 0
        for name, value in tensors.items():
            dtype, shape, data = arrays.to_bytes(name, value)
            size = len(data) if isinstance(data, bytes) else data.nbytes
            total += size
            _check_size(total)
            if size < SLOT_BYTES:
                specs.append((name, dtype, shape, size, -1))
                parts.append(data if isinstance(data, bytes) else data.tobytes())
            elif question.slot >= 0 and self._write_slot(question.slot, offset, _view(data)):
                specs.append((name, dtype, shape, size, offset))
                offset = _align(offset + size)
                continue
            else:
                specs.append((name, dtype, shape, size, -1))
                parts.append(_view(data))
            if size % 8:
                parts.append(bytes(-size % 8))
        body_size = sum(map(len, parts))
        text = self._text(header, tuple(specs))
        _check_size(PREFIX.size + len(text) + body_size)
        self._send([PREFIX.pack(len(text), question.id, body_size, 0, -1, 0) + text, *parts], body_size)

    def _header(self, text):
        header = self._headers.get(text)
        if header is None:
            header = Header(json.loads(text))
            if len(text) <= MOST_BYTES and header.may_be_shared():
                _remember(self._headers, text, header)
        return header

    def _text(self, header, specs):
        if header:
            return to_json({**header, "tensors": specs}).encode()
        text = self._texts.get(specs)
        if text is None:
            text = to_json({"tensors": specs}).encode()
            _remember(self._texts, specs, text)
        return text

    def _take(self, size):
        """The next bytes."""
        if size > CHUNK:
            return bytes(self._take_large(size))
        while len(self._buffer) < size:
            self._buffer += self._receive(CHUNK)
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _take_large(self, size):
        """Many bytes, without copies of what is not yet complete; writable, as a model may get them as its input."""
        taken = bytearray(size)
        view, filled = memoryview(taken), len(self._buffer)
        view[:filled], self._buffer = self._buffer, b""
        while filled < size:
            chunk = self._receive(min(size - filled, MOVE_BYTES))
            view[filled : filled + len(chunk)] = chunk
            filled += len(chunk)
        return taken

    def _receive(self, size):
        chunk = os.read(self._fd, size)
        if not chunk:
            raise Closed
        return chunk

    def _send(self, parts, body_size):
        if body_size < SLOT_BYTES:
            parts = [b"".join(parts)]
        for part in parts:
            view = memoryview(part)
            while len(view):
                view = view[os.write(self._fd, view[:MOVE_BYTES]) :]

    def _read_slot(self, slot, offset, size):
        """A copy, for the model to keep or change."""
        data = np.empty(size, np.uint8)
        view = memoryview(data)
        filled = 0
        while filled < size:
            filled += os.preadv(self._slots[slot], [view[filled : filled + MOVE_BYTES]], offset + filled)
        return data

    def _write_slot(self, slot, offset, view):
        written = 0
        try:
            while written < view.nbytes:
                written += os.pwrite(self._slots[slot], view[written : written + MOVE_BYTES], offset + written)
        except OSError:
            return False
        return True


def _check_size(size):
    if size > MOST_FRAME_BYTES:
        raise HostError(
            "resource_exhausted",
            f"What Python answers has {size} bytes; {MOST_FRAME_BYTES} at most are taken. Use fewer rows, or smaller tensors.",
        )


def _align(size):
    return (size + 63) & ~63


def _view(data):
    """Bytes, or an array's bytes."""
    return memoryview(data if isinstance(data, bytes) else data.reshape(-1).view(np.uint8))


def _remember(known, key, value):
    if len(known) >= MOST_HEADERS:
        known.clear()
    known[key] = value
