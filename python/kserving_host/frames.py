"""Frames to and from the server: u32 length of a JSON header, u64 length of a body, header, body; little endian.

A tensor's bytes are in the body, padded to 8, or in the file of the slot that the question holds: files in memory, read and written by position,
since a mapped file would end this process with SIGBUS where memory for it runs out, and would change under a model that keeps its input.
"""

import json
import os
import struct

import numpy as np

from . import arrays

PREFIX = struct.Struct("<IQ")
CHUNK = 1 << 16
# From here on the file costs less than the pipe.
SLOT_BYTES = 1 << 16
# Linux moves at most 2 GiB a call.
MOVE_BYTES = 1 << 30

to_json = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode


class Closed(Exception):
    """The server has closed its end, or is gone."""


class Frames:
    """The server's end of things; one thread asks at a time."""

    def __init__(self, fd, slots):
        self._fd = fd
        self._slots = slots
        self._buffer = b""

    def read(self):
        """The next question: header, and tensors by name."""
        header_size, body_size = PREFIX.unpack(self._take(PREFIX.size))
        header = json.loads(self._take(header_size))
        body = memoryview(self._take(body_size))
        slot = header.get("slot", -1)
        tensors, start = {}, 0
        for name, dtype, shape, size, offset in header.get("tensors", ()):
            if offset >= 0:
                data = self._read_slot(slot, offset, size)
            else:
                data = body[start : start + size]
                start += (size + 7) & ~7
            tensors[name] = arrays.from_bytes(dtype, shape, data)
        return header, tensors

    def write(self, header, tensors, slot=-1, offset=0):
        """Answers; large tensors go to the slot's file behind `offset`, where that has room."""
        specs, parts = [], []
        for name, value in tensors.items():
            dtype, shape, data = arrays.to_bytes(name, value)
            view = memoryview(data).cast("B") if isinstance(data, bytes) else _bytes_of(data)
            size = view.nbytes
            if slot >= 0 and size >= SLOT_BYTES and self._write_slot(slot, offset, view):
                specs.append((name, dtype, shape, size, offset))
                offset += (size + 63) & ~63
            else:
                specs.append((name, dtype, shape, size, -1))
                parts += [view, bytes(-size % 8)]
        text = to_json({**header, "tensors": specs}).encode()
        body_size = sum(map(len, parts))
        self._send([PREFIX.pack(len(text), body_size) + text, *parts], body_size)

    def _take(self, size):
        """The next bytes, writable where they are many: what a model may get as its input."""
        while len(self._buffer) < size:
            if size > CHUNK:
                return self._take_large(size)
            self._buffer += self._receive(CHUNK)
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return bytearray(taken)

    def _take_large(self, size):
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


def _bytes_of(array):
    return memoryview(array.reshape(-1).view(np.uint8)) if array.size else memoryview(b"")
