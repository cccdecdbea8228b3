"""`ctx`: one object for all hooks of a request. It takes any attribute, and has what the hooks of gRPC's servers are used to."""

import collections
import sys
import time

from ..errors import one_line
from .failures import Aborted
from .models import ModelParts, with_values

# grpc.StatusCode by number, for codes given as an enum, a number or a name.
CODES = (
    "ok cancelled unknown invalid_argument deadline_exceeded not_found already_exists permission_denied resource_exhausted "
    "failed_precondition aborted out_of_range unimplemented internal unavailable data_loss unauthenticated"
).split()

Metadatum = collections.namedtuple("Metadatum", "key value")


class Context:
    """`drivers`, `driver` and `global_ctx` are attributes like the hooks' own; `metadata` and `request` are asked for when they are used."""

    # Number of the part that is under way, from 1; None until a hook has yielded one.
    part = None

    def __init__(self, request, global_ctx):
        self._kserving = request
        self.drivers = list(request.drivers)
        self.driver = request.drivers[0]
        self.global_ctx = global_ctx

    def __getattr__(self, name):
        # Only for attributes that are not there.
        if name in ("metadata", "request"):
            return self._kserving.info()[name]
        if name == "response":
            return self._kserving.response
        raise AttributeError(f"ctx has no attribute {name!r}; set it in an earlier hook of the same request")

    def invocation_metadata(self):
        return tuple(Metadatum(key, value) for key, value in self.metadata.items())

    def is_active(self):
        return not self._kserving.is_cancelled and self._kserving.info(fresh=True)["active"]

    def time_remaining(self):
        """Seconds until the client's deadline, 0 behind it; None without one."""
        deadline = self._kserving.info()["deadline"]
        return None if deadline is None else max(0.0, deadline / 1000 - time.time())

    def peer(self):
        """Such as `ipv4:127.0.0.1:50000`."""
        return self._kserving.info()["peer"] or "unknown"

    def peer_identities(self):
        return None

    def peer_identity_key(self):
        return None

    def auth_context(self):
        return {}

    def send_initial_metadata(self, initial_metadata):
        self.response.metadata.update({str(key): _text(value) for key, value in initial_metadata})

    def set_trailing_metadata(self, trailing_metadata):
        trailing = tuple(Metadatum(str(key), value) for key, value in trailing_metadata)
        self._kserving.trailing = trailing
        self.send_initial_metadata(trailing)

    def trailing_metadata(self):
        return self._kserving.trailing

    def set_compression(self, compression):
        """The server compresses answers as its clients ask for it."""

    def disable_next_message_compression(self):
        """The server compresses answers as its clients ask for it."""

    def set_code(self, code):
        self._kserving.code = _code_name(code)
        self._kserving.given_code = code

    def code(self):
        """As set_code was given it; None before."""
        return self._kserving.given_code

    def set_details(self, details):
        self._kserving.details = _text(details)

    def details(self):
        return self._kserving.details

    def abort(self, code, details=""):
        """Ends the request with a status: abort(grpc.StatusCode.NOT_FOUND, "no such face"), or "not_found", or 5."""
        name = _code_name(code)
        self.set_code(code)
        self.set_details(details)
        raise Aborted("unknown" if name == "ok" else name, _text(details) or "A hook ended the request.")

    def abort_with_status(self, status):
        """Ends the request with a grpc.Status: its `code`, `details` and `trailing_metadata`."""
        if status.trailing_metadata is not None:
            self.set_trailing_metadata(status.trailing_metadata)
        self.abort(status.code, status.details or "")

    def cancel(self):
        """The client gets the status CANCELLED, whatever the hook returns."""
        self._kserving.is_cancelled = True
        return True

    def add_callback(self, callback):
        """Calls back when the request's last hook has returned."""
        self._kserving.callbacks.append(callback)
        return True

    def remote(self, address):
        return Other(self._kserving, {"call": "remote", "address": address})

    @property
    def models(self):
        return Models(self._kserving)


class Response:
    """What is sent with the outputs."""

    def __init__(self):
        self.metadata = {}
        self.content_type = None


class Request:
    """What a context knows besides its attributes."""

    def __init__(self, number, ask, drivers):
        self.number = number
        self.drivers = drivers
        self.response = Response()
        self.callbacks = []
        self.code = None
        # As the hook gave it.
        self.given_code = None
        self.details = ""
        self.trailing = ()
        self.is_cancelled = False
        self._ask = ask
        self._info = None

    def ask(self, header, tensors):
        return self._ask({**header, "request": self.number}, tensors)

    def info(self, fresh=False):
        if self._info is None or fresh:
            self._info, _ = self.ask({"call": "info"}, {})
            given = self._info["request"]["parameters"]
            given.update({name: number_of(value) for name, value in given.items() if isinstance(value, dict)})
        return self._info

    def raise_chosen(self):
        if self.is_cancelled:
            raise Aborted("cancelled", "A hook cancelled the request.")
        if self.code not in (None, "ok"):
            raise Aborted(self.code, self.details or "A hook ended the request.")

    def additions(self):
        """Members of the answer's header, where there are any."""
        metadata, content_type = self.response.metadata, self.response.content_type
        if not metadata and content_type is None:
            return {}
        return {"response": {"metadata": metadata, **({} if content_type is None else {"contentType": content_type})}}

    def end(self):
        for callback in self.callbacks:
            try:
                callback()
            except BaseException as error:
                print(f"a function of ctx.add_callback failed: {one_line(error)}", file=sys.stderr)


def number_of(text):
    """A number that JSON cannot hold, from the text that it came as."""
    return int(text["integer"]) if "integer" in text else float(text["double"])


class Models:
    """The server's other models: ctx.models.get("emotion").predict(inputs)."""

    def __init__(self, request):
        self._request = request

    def get(self, name):
        return Other(self._request, {"call": "model", "name": name})


class Other:
    """A model of another server, or one of this server that is not one of this pipeline's."""

    def __init__(self, request, header):
        self._request = request
        self._header = header

    def predict(self, inputs, **options):
        return self._request.ask(*with_values({**self._header, "options": options}, inputs, {}))[1]

    def stream(self, inputs, **options):
        """The parts of its answer, arrays by name each; one, of a model that answers once."""
        header = {**self._header, "options": options, "parts": True}
        return ModelParts(self._request.ask, *with_values(header, inputs, {}))


def _code_name(code):
    """Of a grpc.StatusCode, a number or a name in either case."""
    value = getattr(code, "value", code)
    if isinstance(value, tuple):
        value = value[0]
    if isinstance(value, int) and 0 <= value < len(CODES):
        return CODES[value]
    name = str(value).lower()
    if name in CODES:
        return name
    raise ValueError(f"{code!r} is no status; expected a grpc.StatusCode, its number, or its name such as not_found")


def _text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
