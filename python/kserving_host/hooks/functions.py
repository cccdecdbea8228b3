"""Functions that answer requests about texts, over every protocol: dicts in, texts and dicts out."""

import inspect
import re

import numpy as np

from ..errors import refused
from .calling import Caller
from .values import pack_plain

# The server has them under the same names, but for one.
NAMES = {name: name for name in ("chat", "complete", "embed", "rerank", "transcribe", "speak")} | {"generate_image": "generateImage"}
# Members whose own members are the client's.
_CLIENTS = ("more", "parameters", "schema")
_ANSWERED = {"tool_calls": "toolCalls", "finish_reason": "finishReason", "prompt_tokens": "promptTokens", "completion_tokens": "completionTokens", "media_type": "mediaType", "revised_prompt": "revisedPrompt"}
# Members whose own names are the server's.
_INNER = ("usage", "images")


def find_functions(module, file):
    """A Caller for each that a file has of its own, or exports by `__all__`, by the server's name: one that it imports is a helper."""
    found = {}
    for name, served in NAMES.items():
        function = getattr(module, name, None)
        if not callable(function) or not (name in getattr(module, "__all__", ()) or _is_own(function, module)):
            continue
        if inspect.iscoroutinefunction(function):
            raise refused(f"{file}: the function {name} is a coroutine; expected a generator (async def with yield, for example), or a function that returns its answer.")
        found[served] = Caller(function)
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
        answer = {name: _renamed(each) if name in _INNER else each for name, each in _renamed(answer).items()}
    packed, found = pack_plain(_renamed(answer), place)
    return {"value": packed}, found


def _renamed(value):
    """A dict, or the dicts of a list, with the server's names."""
    if isinstance(value, (list, tuple)):
        return [_renamed(each) if hasattr(each, "items") else each for each in value]
    return {_ANSWERED.get(name, name): each for name, each in value.items()} if hasattr(value, "items") else value


def _snake(name):
    return re.sub("[A-Z]", lambda letter: f"_{letter.group().lower()}", name)
