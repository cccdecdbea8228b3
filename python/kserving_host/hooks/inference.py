"""SageMaker's handlers: functions of an inference.py that get bytes and give bytes."""

import collections
import io
import json
import os

import numpy as np

from ..errors import HostError, refused
from ..parts import is_parts
from .toolkit import find_toolkit

FILES = {"inference.py", os.path.basename(os.environ.get("SAGEMAKER_PROGRAM", ""))}
"""Names of files of handlers."""
PAIR = ("input_handler", "output_handler")
FIELDS = "model_name model_version method rest_uri grpc_port channel custom_attributes request_content_type accept_header content_length"


def find_handlers(module, name, hooks):
    """The handlers by name, of a file of that name: `handler`, which beats the pair, or both of the pair, or the one that the functions of the toolkits make; none for a file of hooks. `hooks` are the names of those."""
    if os.path.basename(name) not in FILES:
        return {}
    has = [each for each in ("handler", *PAIR) if hasattr(module, each)]
    toolkit = None if has else find_toolkit(module, name)
    if toolkit is not None:
        return {"handler": toolkit}
    if not has and any(hasattr(module, each) for each in hooks):
        return {}
    wanted = ("handler",) if "handler" in has else PAIR
    for each in wanted:
        if not callable(getattr(module, each, None)):
            what = f"{each} is a {type(getattr(module, each)).__name__}" if each in has else f"it has no {each}"
            raise refused(f"{name}: {what}; expected the functions input_handler(data, context) and output_handler(response, context), or handler(data, context); or those of SageMaker's toolkits, such as model_fn(model_dir).")
    return {each: getattr(module, each) for each in wanted}


def call_handler(name, handler, facts, body):
    """Calls a handler: the body that it gives, or what makes its parts, and, but for input_handler's, the body's content type; None for that of its first part."""
    status = facts.pop("status_code", None)
    given = Response(status, body) if name == "output_handler" else io.BytesIO(body)
    returned = handler(given, Context(channel=None, **facts))
    return (_input(returned), "") if name == "input_handler" else _answer(returned)


class Context(collections.namedtuple("Context", FIELDS)):
    """What handlers know of the request; members that it does not say are None."""

    __slots__ = ()

    @property
    def channel(self):
        """A gRPC channel to this server; None where this Python has no grpc."""
        return _channel(self.grpc_port)


_channels = {}


def _channel(port):
    if port is None:
        return None
    if port not in _channels:
        try:
            import grpc
        except ModuleNotFoundError:
            return None
        _channels[port] = grpc.insecure_channel(f"localhost:{port}")
    return _channels[port]


class Response:
    """The model's answer, with what handlers use of the library requests."""

    def __init__(self, status_code, content):
        self.status_code = status_code
        self.content = content
        self.headers = {"content-type": "application/json"}

    @property
    def text(self):
        return self.content.decode("utf-8", "replace")

    @property
    def ok(self):
        return self.status_code < 400

    def json(self, **options):
        return json.loads(self.content, **options)

    def raise_for_status(self):
        if not self.ok:
            raise RuntimeError(f"the model answered {self.status_code}: {self.text}")


def _input(returned):
    body = returned.read() if hasattr(returned, "read") else returned
    if isinstance(body, (str, bytes, bytearray)):
        return _bytes(body)
    raise _wrong(_kind(body), "the request for the model as a text or bytes, such as json.dumps({'instances': rows})")


def pack_part(part, number):
    """Header and tensors of a part of a body: a text, an event or bytes."""
    if isinstance(part, (str, dict)):
        return {"result": part}, {}
    if isinstance(part, (bytes, bytearray)):
        return {}, {"body": np.frombuffer(part, np.uint8)}
    raise HostError("internal", f"its part {number} is {_kind(part)}; expected a text, bytes, or an event such as {{'data': {{'step': 1}}}}")


def _answer(returned):
    if is_parts(returned):
        return returned, None
    if isinstance(returned, (tuple, list)) and len(returned) == 2 and is_parts(returned[0]) and isinstance(returned[1], str):
        return returned[0], returned[1]
    expected = "a body (a text or bytes) and its content type: return body, context.accept_header"
    if not isinstance(returned, (tuple, list)):
        raise _wrong(_kind(returned), expected)
    if len(returned) != 2 or not isinstance(returned[0], (str, bytes, bytearray)) or not isinstance(returned[1], str):
        raise _wrong(f"({', '.join(map(_kind, returned))})", expected)
    return _bytes(returned[0]), returned[1]


def _bytes(text):
    return text.encode() if isinstance(text, str) else bytes(text)


def _kind(value):
    return "None" if value is None else f"a {type(value).__name__}"


def _wrong(came, expected):
    return HostError("internal", f"it returned {came}; expected {expected}")
