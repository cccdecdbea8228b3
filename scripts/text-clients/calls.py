"""Runs the calls of a client one after the other, and prints a line of JSON for each: its name, and what was wrong."""
import base64
import json
import sys
import traceback

ORIGIN = sys.argv[1]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
PICTURE = f"data:image/png;base64,{PNG}"
WAV = b"RIFF\0\0\0\0WAVEfmt "
CITY = {"type": "object", "title": "place", "properties": {"city": {"type": "string"}}, "required": ["city"]}
# The vector that the toy model of embeddings gives to "good".
GOOD = [1, 0, 1 / 3]


def is_near(one, other):
    return len(one) == len(other) and all(abs(a - b) < 1e-6 for a, b in zip(one, other))


def failure(call):
    """The reason for which a call has failed; fails if it has not."""
    try:
        value = call()
    except Exception as reason:
        return reason
    raise AssertionError(f"expected an error; got {value!r}")


def call(name):
    """Runs the function at once, as a call of this name."""

    def run(function):
        problem = None
        try:
            function()
        except Exception:
            problem = traceback.format_exc()[-2000:]
        print(json.dumps({"name": name, **({"problem": problem} if problem else {})}), flush=True)
        return function

    return run
