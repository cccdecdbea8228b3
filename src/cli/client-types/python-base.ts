/**
 * The beginning of all generated modules of Python: calls of KServe V2 over HTTP with numpy and the standard library,
 * values as bytes; parts of answers are JSON.
 */
export const PYTHON_BASE = `from __future__ import annotations

import base64
import http.client
import json
import struct
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

# Bytes of an element, by KServe V2's datatypes; those of BF16 are read and written as float32.
_DTYPES = {
    name: np.dtype(dtype)
    for name, dtype in {
        "BOOL": "?", "INT8": "<i1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8",
        "UINT8": "<u1", "UINT16": "<u2", "UINT32": "<u4", "UINT64": "<u8",
        "FP16": "<f2", "BF16": "<f4", "FP32": "<f4", "FP64": "<f8", "BYTES": "O",
    }.items()
}  # fmt: skip


class ServerError(Exception):
    """An answer that is an error: its status of HTTP, the server's text, and after parts its code, if it is told."""

    def __init__(self, status: int, text: str, code: str | None = None):
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text
        self.code = code


@dataclass(frozen=True)
class _Typed:
    datatype: str
    value: Any


class _Connection:
    def __init__(self, address: str, *, headers: Mapping[str, str] | None = None, timeout: float = 60):
        """\`address\`: http://HOST:PORT. \`headers\` go with every call, such as Authorization. \`timeout\`: seconds."""
        self._address = address.rstrip("/")
        self._headers = dict(headers or {})
        self._timeout = timeout

    def infer(self, model: str, inputs: Mapping[str, Any], outputs: Sequence[str] = (), version: str = ""):
        """Runs any model: arrays by name. An input that is None is left out; bytes are a file, such as a JPEG.

        Raises ServerError for an answer that is an error, OSError without an answer, and ValueError for a value that
        is no tensor of the input.
        """
        with self._open(self._request("infer", model, inputs, outputs, version)) as response:
            return _read_answer(response.read(), response.headers.get("Inference-Header-Content-Length"))

    def stream(self, model: str, inputs: Mapping[str, Any], outputs: Sequence[str] = (), version: str = ""):
        """The same, and gives each part of the answer as it comes: one of a model that answers once.

        To leave the loop ends the request. A ServerError after parts has the status 200, which they came with.
        """
        with self._open(self._request("infer_stream", model, inputs, outputs, version)) as response:
            for event in _events(response):
                yield _read_part(event)

    def _request(
        self, method: str, model: str, inputs: Mapping[str, Any], outputs: Sequence[str], version: str
    ) -> urllib.request.Request:
        tensors = [_encode(name, value) for name, value in inputs.items() if _plain(value) is not None]
        wanted = [{"name": name, "parameters": {"binary_data": True}} for name in outputs]
        head = {"inputs": [tensor for tensor, _ in tensors], "parameters": {"binary_data_output": True}}
        text = json.dumps({**head, "outputs": wanted} if wanted else head).encode()
        headers = {
            "Content-Type": "application/octet-stream",
            "Inference-Header-Content-Length": str(len(text)),
            "X-Request-Timeout-Ms": str(min(max(1, int(self._timeout * 1000)), 2**31 - 1)),
        }
        place = f"/versions/{urllib.parse.quote(version, safe='')}" if version else ""
        url = f"{self._address}/v2/models/{urllib.parse.quote(model, safe='')}{place}/{method}"
        body = b"".join([text, *(raw for _, raw in tensors)])
        return urllib.request.Request(url, body, {**headers, **self._headers})

    @contextmanager
    def _open(self, request: urllib.request.Request) -> Iterator[http.client.HTTPResponse]:
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as response:
                yield response
        except urllib.error.HTTPError as error:
            raise ServerError(error.code, _error_text(error.read())) from None
        except http.client.HTTPException as error:
            raise ConnectionError(f"the answer broke off: {error!r}") from error


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, _Typed) else value


def _encode(name: str, value: Any) -> tuple[dict[str, Any], bytes]:
    datatype = value.datatype if isinstance(value, _Typed) else None
    datatype, array = _to_array(name, datatype, _plain(value))
    raw = _pack(name, array) if datatype == "BYTES" else _to_bytes(datatype, array)
    size = {"binary_data_size": len(raw)}
    return {"name": name, "datatype": datatype, "shape": list(array.shape), "parameters": size}, raw


def _to_array(name: str, datatype: str | None, value: Any) -> tuple[str, np.ndarray]:
    if isinstance(value, (str, bytes, bytearray)):
        value = [value]
    is_files = isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(one, bytes) for one in value)
    if datatype == "BYTES" or is_files:
        return "BYTES", np.asarray(value, dtype=object)
    array = np.asarray(value)
    if datatype == "UINT64" and array.dtype.kind == "f":
        array = _exact(value, array)
    if datatype is None and array.dtype.kind in "OSU":
        return "BYTES", np.asarray(value, dtype=object)
    if array.dtype.kind not in "biuf":
        raise ValueError(f'input "{name}" is {array.dtype}; expected numbers for {datatype}')
    datatype = datatype or _datatype_of(name, array.dtype)
    dtype = _DTYPES[datatype]
    with np.errstate(all="ignore"):
        converted = array.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(converted, array):
        raise ValueError(f'input "{name}" has values that are no {datatype}')
    return datatype, converted


def _exact(value: Any, rounded: np.ndarray) -> np.ndarray:
    """numpy makes floats of integers of which only some have 64 bits without a sign."""
    exact = np.asarray(value, dtype=object)
    if not all(isinstance(one, (int, np.integer)) and 0 <= one < 2**64 for one in exact.flat):
        return rounded
    return exact.astype("<u8")


def _datatype_of(name: str, dtype: np.dtype) -> str:
    for datatype, known in _DTYPES.items():
        if datatype != "BF16" and known == dtype.newbyteorder("<"):
            return datatype
    raise ValueError(f'input "{name}" is {dtype}, which no datatype of KServe V2 is')


def _to_bytes(datatype: str, array: np.ndarray) -> bytes:
    if datatype != "BF16":
        return array.tobytes()
    bits = np.ascontiguousarray(array).view("<u4").astype("<u8")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(array), 0x7FC0, rounded).astype("<u2").tobytes()


def _pack(name: str, array: np.ndarray) -> bytes:
    if not all(isinstance(one, (str, bytes)) for one in array.flat):
        raise ValueError(f'input "{name}" has values that are neither str nor bytes')
    elements = [one.encode() if isinstance(one, str) else one for one in array.flat]
    return b"".join(struct.pack("<I", len(one)) + one for one in elements)


def _read_answer(body: bytes, head_size: str | None) -> dict[str, np.ndarray]:
    end = len(body) if head_size is None else int(head_size)
    try:
        outputs = json.loads(body[:end])["outputs"]
    except (ValueError, KeyError, TypeError):
        raise ServerError(200, "the answer is not KServe V2's; see whether the address is right") from None
    found = {}
    for output in outputs:
        size = output.get("parameters", {}).get("binary_data_size", 0)
        found[output["name"]] = _decode(output, body[end : end + size])
        end += size
    return found


def _events(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The data of Server-Sent Events."""
    data = []
    for line in lines:
        text = line.rstrip(b"\\r\\n")
        if text.startswith(b"data:"):
            data.append(text[5:].removeprefix(b" "))
        elif text == b"" and data:
            yield b"\\n".join(data)
            data = []
    if data:
        yield b"\\n".join(data)


def _read_part(event: bytes) -> dict[str, np.ndarray]:
    try:
        part = json.loads(event)
        failure = part.get("error")
    except (ValueError, AttributeError):
        raise ServerError(200, "an event is not KServe V2's; see whether the address is right") from None
    if failure is not None:
        raise ServerError(200, failure, part.get("code"))
    return _read_answer(event, None)


def _decode(output: Mapping[str, Any], raw: bytes) -> np.ndarray:
    datatype, shape = output["datatype"], output["shape"]
    if "data" in output:
        array = np.array(output["data"], dtype=_DTYPES[datatype]).reshape(shape)
        return _to_elements(shape, [_from_json(one) for one in array.flat]) if datatype == "BYTES" else array
    if datatype == "BYTES":
        return _to_elements(shape, _unpack(raw))
    if datatype == "BF16":
        return (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4").reshape(shape)
    return np.frombuffer(raw, _DTYPES[datatype]).reshape(shape).copy()


def _from_json(element: Any) -> bytes:
    """A text, or what is none, in base64."""
    return base64.b64decode(element["b64"]) if isinstance(element, dict) else str(element).encode()


def _unpack(raw: bytes) -> list[bytes]:
    elements, at = [], 0
    while at < len(raw):
        (size,) = struct.unpack_from("<I", raw, at)
        elements.append(raw[at + 4 : at + 4 + size])
        at += 4 + size
    return elements


def _to_elements(shape: Sequence[int], elements: Sequence[bytes]) -> np.ndarray:
    array = np.empty(len(elements), dtype=object)
    array[:] = elements
    return array.reshape(shape)


def _error_text(body: bytes) -> str:
    try:
        return json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return body[:500].decode(errors="replace")
`;
