"""Reads answers in parts as programs with other servers' clients do; prints one JSON object a line: {"check", "problem"}.

    python3 stream_clients_checks.py '{"grpc": "host:port", "http": "host:port"}' CHECK...

Each check imports its client itself: their environments differ.

The model paced takes x, a key and a number of parts, and gives the numbers from 1 on as y, INT32 [1]; each after the
first once the model go was asked for it, with the key and its number.
"""

import asyncio
import binascii
import http.client
import http.server
import json
import queue
import struct
import sys
import threading
import traceback
import urllib.request

import numpy as np

SERVER = json.loads(sys.argv[1])
URL = f"http://{SERVER['http']}"
PARTS = 3
REFUSAL = "HTTP end point doesn't support models with decoupled transaction policy"


def let_go(key, number):
    """Has the next part made: whoever gets parts only at their end waits for ever."""
    body = {"inputs": [{"name": "x", "datatype": "INT32", "shape": [2], "data": [key, number]}]}
    urllib.request.urlopen(f"{URL}/v2/models/go/infer", json.dumps(body).encode()).close()


def as_they_are_made(key, numbers):
    """The numbers, each of which is made only once those before it were read."""
    read = []
    for number in numbers:
        read.append(int(number))
        let_go(key, len(read) + 1)
    assert read == list(range(1, PARTS + 1)), read


def triton_inputs(key, count=PARTS):
    import tritonclient.grpc as triton

    made = triton.InferInput("x", [2], "INT32")
    made.set_data_from_numpy(np.array([key, count], dtype=np.int32))
    return [made]


def is_last(result):
    return result.get_response().parameters["triton_final_response"].bool_param


def check_tritonclient():
    import tritonclient.grpc as triton
    from tritonclient.utils import InferenceServerException

    answers = queue.Queue()
    with triton.InferenceServerClient(SERVER["grpc"]) as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        client.async_stream_infer("paced", triton_inputs(1), request_id="a", enable_empty_final_response=True)

        def parts():
            while True:
                result, error = answers.get(timeout=20)
                assert error is None and result.get_response().id == "a", error
                if is_last(result):
                    assert result.as_numpy("y") is None
                    return
                yield result.as_numpy("y")[0]

        as_they_are_made(1, parts())
        try:
            client.infer("paced", triton_inputs(1))
            raise AssertionError("a model that answers in parts answered once")
        except InferenceServerException as error:
            assert error.status() == "StatusCode.UNIMPLEMENTED", error


def check_tritonclient_aio():
    import tritonclient.grpc.aio as triton_aio

    async def ask():
        async with triton_aio.InferenceServerClient(SERVER["grpc"]) as client:

            async def requests():
                yield {"model_name": "paced", "inputs": triton_inputs(2), "request_id": "b"}

            read = []
            async for result, error in client.stream_infer(requests()):
                assert error is None and not is_last(result), error
                read.append(int(result.as_numpy("y")[0]))
                await asyncio.to_thread(let_go, 2, len(read) + 1)
            assert read == [1, 2, 3], read

    asyncio.run(ask())


def mlserver_request(key):
    from mlserver.codecs import NumpyCodec
    from mlserver.types import InferenceRequest

    inputs = [NumpyCodec.encode_input("x", np.array([key, PARTS], dtype=np.int32))]
    return InferenceRequest(id="c", inputs=inputs).model_dump()


def number_of(event):
    """Of an event that has a V2 answer, as MLServer's users read it."""
    from mlserver.codecs import NumpyCodec
    from mlserver.types import InferenceResponse

    [output] = InferenceResponse.model_validate_json(event.data).outputs
    return NumpyCodec.decode_output(output).flat[0]


def check_mlserver():
    import httpx
    from httpx_sse import connect_sse

    with httpx.Client(timeout=20) as client:
        for key, route in [(3, "infer_stream"), (4, "generate_stream")]:
            url = f"{URL}/v2/models/paced/{route}"
            with connect_sse(client, "POST", url, json=mlserver_request(key)) as source:
                as_they_are_made(key, map(number_of, source.iter_sse()))


def check_mlserver_aio():
    import httpx
    from httpx_sse import aconnect_sse

    async def ask():
        async with httpx.AsyncClient(timeout=20) as client:
            url = f"{URL}/v2/models/paced/infer_stream"
            read = []
            async with aconnect_sse(client, "POST", url, json=mlserver_request(5)) as source:
                async for event in source.aiter_sse():
                    read.append(int(number_of(event)))
                    await asyncio.to_thread(let_go, 5, len(read) + 1)
            assert read == [1, 2, 3], read

    asyncio.run(ask())


def check_kserve():
    """Its clients have no streams: the only part is an answer, and several are refused with the reason."""
    import grpc
    import httpx
    import kserve

    def request(count):
        made = kserve.InferInput("x", [2], "INT32")
        made.set_data_from_numpy(np.array([6, count], dtype=np.int32), binary_data=False)
        return kserve.InferRequest(model_name="paced", infer_inputs=[made])

    let_go(6, 2)

    async def ask():
        rest = kserve.InferenceRESTClient(kserve.RESTConfig(protocol="v2", timeout=20))
        assert await rest.is_server_ready(URL) and await rest.is_model_ready(URL, "paced")
        answer = await rest.infer(URL, request(1), model_name="paced")
        assert answer.outputs[0].as_numpy().tolist() == [1], answer
        try:
            await rest.infer(URL, request(2), model_name="paced")
            raise AssertionError("several parts were one answer")
        except httpx.HTTPStatusError as error:
            assert REFUSAL in str(error), error
        over_grpc = kserve.InferenceGRPCClient(SERVER["grpc"], use_ssl=False)
        answer = await over_grpc.infer(request(1))
        assert answer.outputs[0].as_numpy().tolist() == [1], answer
        try:
            await over_grpc.infer(request(2))
            raise AssertionError("several parts were one answer")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNIMPLEMENTED, error

    asyncio.run(ask())


class SageMaker(http.server.BaseHTTPRequestHandler):
    """Passes a container's chunks on as SageMaker does: each is a PayloadPart of an event stream, as it comes."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        assert self.path == "/endpoints/paced/invocations-response-stream", self.path
        body = self.rfile.read(int(self.headers["content-length"]))
        container = http.client.HTTPConnection(SERVER["http"])
        headers = {"content-type": self.headers["content-type"]}
        attributes = self.headers["x-amzn-sagemaker-custom-attributes"]
        container.request("POST", "/invocations", body, {**headers, "x-amzn-sagemaker-custom-attributes": attributes})
        answer = container.getresponse()
        self.send_response(answer.status)
        self.send_header("content-type", "application/vnd.amazon.eventstream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        while chunk := answer.read1():
            event = to_event(chunk)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


def to_event(payload):
    """A message of application/vnd.amazon.eventstream."""
    names = {":message-type": "event", ":event-type": "PayloadPart", ":content-type": "application/octet-stream"}
    headers = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        for name, value in names.items()
    )
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", binascii.crc32(prelude)) + headers + payload
    return message + struct.pack("!I", binascii.crc32(message))


def lines_of(body):
    """As the examples of SageMaker put parts of a payload together to lines of JSON."""
    rest = b""
    for event in body:
        rest += event["PayloadPart"]["Bytes"]
        while b"\n" in rest:
            line, rest = rest.split(b"\n", 1)
            yield json.loads(line)
    assert rest == b"", rest


def check_boto3():
    import boto3
    from botocore import UNSIGNED
    from botocore.config import Config

    endpoint = http.server.ThreadingHTTPServer(("127.0.0.1", 0), SageMaker)
    threading.Thread(target=endpoint.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{endpoint.server_port}"
    config = Config(signature_version=UNSIGNED, retries={"max_attempts": 0})
    client = boto3.client("sagemaker-runtime", region_name="eu-west-1", endpoint_url=url, config=config)
    answer = client.invoke_endpoint_with_response_stream(
        EndpointName="paced",
        ContentType="application/json",
        Body=json.dumps({"inputs": {"x": [7, PARTS]}}),
        CustomAttributes="tfs-model-name=paced",
    )
    as_they_are_made(7, (line["outputs"][0] for line in lines_of(answer["Body"])))
    endpoint.shutdown()


for name in sys.argv[2:]:
    problem = None
    try:
        globals()[f"check_{name}"]()
    except Exception:
        problem = traceback.format_exc()
    print(json.dumps({"check": name, "problem": problem}), flush=True)
