"""Functions that answer requests about texts, over every protocol: dicts in, texts and dicts out."""

import inspect
import re

import numpy as np

from ..errors import refused
from .calling import Caller
from .values import pack_plain

# The server has them under the same names.
NAMES = ("chat", "complete", "embed", "rerank", "transcribe")
# Members whose own members are the client's.
_CLIENTS = ("more", "parameters", "schema")
_ANSWERED = {"tool_calls": "toolCalls", "finish_reason": "finishReason", "prompt_tokens": "promptTokens", "completion_tokens": "completionTokens"}


def find_functions(module, file):
    """A Caller for each that a file has of its own, or exports by `__all__`, by name: one that it imports is a helper."""
    found = {}
    for name in NAMES:
        function = getattr(module, name, None)
        if not callable(function) or not (name in getattr(module, "__all__", ()) or _is_own(function, module)):
            continue
        if inspect.iscoroutinefunction(function):
            raise refused(f"{file}: the function {name} is a coroutine; expected a generator (async def with yield, for example), or a function that returns its answer.")
        found[name] = Caller(function)
    return found


def _is_own(function, module):
    return getattr(function, "__module__", None) == module.__name__


def facts_of(functions):
    return [{"name": name, "parts": function.parts} for name, function in functions.items()]


def to_request(value):
    """The request with names as Python has them, and files as bytes."""
    if isinstance(value, list):
        return [to_request(each) for each in value]
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if not isinstance(value, dict):
        return value
    return {_snake(name): each if name in _CLIENTS else to_request(each) for name, each in value.items()}


def pack_answer(answer, place="its answer"):
    """JSON with markers, and arrays, of an answer or a part of one."""
    if hasattr(answer, "items"):
        answer = {_ANSWERED.get(name, name): _usage(each) if name == "usage" else each for name, each in answer.items()}
    packed, found = pack_plain(answer, place)
    return {"value": packed}, found


def _usage(usage):
    return {_ANSWERED.get(name, name): count for name, count in usage.items()} if hasattr(usage, "items") else usage


def _snake(name):
    return re.sub("[A-Z]", lambda letter: f"_{letter.group().lower()}", name)
