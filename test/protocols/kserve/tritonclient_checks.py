"""Uses a server as any program with tritonclient does; prints one JSON object a line: {"check", "problem"}.

    python3 tritonclient_checks.py '{"echo": {"grpc": "host:port", "http": "host:port"}, "half": ..., "text": ...}'

echo returns its inputs, half is y = x / 2 + 2 of float32 [-1], text returns strings [-1].
"""

import json
import os
import queue
import sys
import traceback

import ml_dtypes
import numpy as np
import tritonclient.grpc as grpc
import tritonclient.http as http
from tritonclient.utils import InferenceServerException, serialize_byte_tensor, shared_memory, triton_to_np_dtype

SERVERS = json.loads(sys.argv[1])
NUMBERS = ["BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "FP16", "FP32", "FP64"]
RAW_ONLY = ["FP16", "BF16"]
WIRES = {"grpc": grpc, "http": http}


def client(server, wire):
    return WIRES[wire].InferenceServerClient(SERVERS[server][wire])


def both(server):
    """Each wire's module with a client of the server."""
    return [(WIRES[wire], client(server, wire)) for wire in WIRES]


def values(datatype):
    """Two rows with the least and the greatest values that the datatype has."""
    if datatype == "BYTES":
        return np.array([["", "a"], ["ü" * 300, "日本"]], dtype=object)
    dtype = triton_to_np_dtype(datatype)
    if datatype == "BOOL":
        return np.array([[True, False], [False, True]])
    limits = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else np.finfo(dtype)
    return np.array([[0, 1], [limits.min, limits.max]], dtype=dtype)


def text(array):
    """Elements as text, since BYTES come back as bytes, or as text where they were JSON."""
    decode = lambda element: element.decode() if isinstance(element, bytes) else element
    return [decode(element) for element in array.flatten()]


def same(result, sent):
    assert result.shape == sent.shape, (result.shape, sent.shape)
    if sent.dtype == object:
        assert text(result) == text(sent), (result, sent)
    else:
        assert result.dtype == sent.dtype and (result == sent).all(), (result, sent)


def tensor(module, name, array, datatype, **form):
    made = module.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array, **form)
    return made


def floats(module, *numbers, name="x"):
    return tensor(module, name, np.array(numbers, dtype=np.float32), "FP32")


def fails(task, status, message):
    """The call fails with exactly this message, after an id of the request where there is one."""
    try:
        task()
    except InferenceServerException as error:
        shown = error.message().removeprefix("[request id: <id_unknown>] ").removeprefix("[request id: 7] ")
        assert shown == message, shown
        assert error.status() == status, error.status()
        return
    raise AssertionError(f"nothing failed; expected {message}")


def check_health():
    for _, one in both("half"):
        assert one.is_server_live() and one.is_server_ready()
        assert one.is_model_ready("default") and one.is_model_ready("default", "1")


def check_what_is_not_there_is_not_ready():
    for _, one in both("half"):
        assert not one.is_model_ready("no") and not one.is_model_ready("default", "9")


def check_shared_memory_that_nobody_registered():
    for module, one in both("half"):
        one.unregister_system_shared_memory()
        one.unregister_cuda_shared_memory()
        one.unregister_system_shared_memory("region")
        as_json = {"as_json": True} if module is grpc else {}
        for status in [one.get_system_shared_memory_status(**as_json), one.get_cuda_shared_memory_status(**as_json)]:
            assert status in ([], {}, {"regions": {}}), status


def check_server_metadata():
    over_grpc = client("half", "grpc").get_server_metadata(as_json=True)
    over_http = client("half", "http").get_server_metadata()
    assert over_grpc == over_http and over_http["name"] == "kserving", (over_grpc, over_http)


def check_model_metadata():
    over_http = client("half", "http").get_model_metadata("default", "1")
    assert over_http == {
        "name": "default",
        "versions": ["1"],
        "platform": "onnxruntime_onnx",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1]}],
        "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1]}],
        "parameters": {"sample_request": '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}'},
    }, over_http
    over_grpc = client("half", "grpc").get_model_metadata("default")
    assert over_grpc.inputs[0].name == "x" and list(over_grpc.inputs[0].shape) == [-1]


def check_model_config():
    over_http = client("half", "http").get_model_config("default")
    assert over_http["backend"] == "onnx" and over_http["max_batch_size"] == 0, over_http
    over_grpc = client("half", "grpc").get_model_config("default").config
    assert over_grpc.input[0].name == over_http["input"][0]["name"] == "x"


def check_statistics():
    for module, one in both("half"):
        before = counts(one)
        for _ in range(3):
            one.infer("default", [floats(module, 1)])
        after = counts(one)
        assert all(b - a == 3 for a, b in zip(before, after)), (before, after)


def counts(one):
    as_json = {"as_json": True} if isinstance(one, grpc.InferenceServerClient) else {}
    [stats] = one.get_inference_statistics("default", **as_json)["model_stats"]
    inference = stats["inference_stats"]
    assert int(inference["compute_infer"]["ns"]) <= int(inference["success"]["ns"]) if "ns" in inference["success"] else True
    return [int(stats.get("inference_count", 0)), int(inference["success"].get("count", 0))]


def check_every_datatype_over_grpc():
    one = client("echo", "grpc")
    for datatype in [*NUMBERS, "BYTES"]:
        sent = values(datatype)
        result = one.infer("default", [tensor(grpc, "x", sent, datatype)], request_id="7")
        same(result.as_numpy("x"), sent)
        assert result.get_response().id == "7" and result.get_response().model_version == "1"


def check_every_datatype_over_http_binary_and_not():
    one = client("echo", "http")
    for datatype in [*NUMBERS, "BYTES"]:
        sent = values(datatype)
        for into in [True] if datatype in RAW_ONLY else [True, False]:
            for out in [True, False]:
                # tritonclient reads no JSON of half precision.
                if datatype in RAW_ONLY and not out:
                    continue
                wanted = [http.InferRequestedOutput("x", binary_data=out)]
                result = one.infer("default", [tensor(http, "x", sent, datatype, binary_data=into)], outputs=wanted)
                same(result.as_numpy("x"), sent)


def check_bfloat16():
    sent = np.array([1.5, -2], dtype=ml_dtypes.bfloat16)
    for module, one in both("echo"):
        result = one.infer("default", [tensor(module, "x", sent, "BF16")])
        same(result.as_numpy("x"), sent)


def check_empty_and_rank_0():
    for module, one in both("echo"):
        for shape in [(0,), (2, 0), ()]:
            sent = np.zeros(shape, dtype=np.float32)
            same(one.infer("default", [tensor(module, "x", sent, "FP32")]).as_numpy("x"), sent)


def check_texts_of_a_model():
    sent = np.array(["a", "", "日本"], dtype=object)
    for module, one in both("text"):
        [spec] = metadata(one)["inputs"]
        assert spec["datatype"] == "BYTES", spec
        result = one.infer("default", [tensor(module, spec["name"], sent, "BYTES")])
        same(result.as_numpy(metadata(one)["outputs"][0]["name"]), sent)


def metadata(one):
    as_json = {"as_json": True} if isinstance(one, grpc.InferenceServerClient) else {}
    return one.get_model_metadata("default", **as_json)


def check_mixed_inputs_and_requested_outputs():
    one = client("echo", "http")
    inputs = [
        tensor(http, "a", np.ones((2, 2), np.float32), "FP32", binary_data=True),
        tensor(http, "b", np.array([7], np.int64), "INT64", binary_data=False),
        tensor(http, "c", np.array(["t"], object), "BYTES", binary_data=True),
    ]
    wanted = [http.InferRequestedOutput("c", binary_data=True), http.InferRequestedOutput("b", binary_data=False)]
    result = one.infer("default", inputs, outputs=wanted)
    assert [output["name"] for output in result.get_response()["outputs"]] == ["c", "b"]
    assert text(result.as_numpy("c")) == ["t"] and result.as_numpy("b")[0] == 7


def check_compression():
    sent = np.arange(1000, dtype=np.float32)
    for name in ["gzip", "deflate"]:
        algorithms = {"request_compression_algorithm": name, "response_compression_algorithm": name}
        for binary in [True, False]:
            inputs = [tensor(http, "x", sent, "FP32", binary_data=binary)]
            same(client("echo", "http").infer("default", inputs, **algorithms).as_numpy("x"), sent)
        result = client("echo", "grpc").infer("default", [tensor(grpc, "x", sent, "FP32")], compression_algorithm=name)
        same(result.as_numpy("x"), sent)


def check_classification():
    for module, one in both("echo"):
        sent = tensor(module, "x", np.array([[0.25, 0.5, 0.125], [3, 2, 1]], np.float32), "FP32")
        result = one.infer("default", [sent], outputs=[module.InferRequestedOutput("x", class_count=2)]).as_numpy("x")
        assert result.shape == (2, 2), result.shape
        assert text(result) == ["0.500000:1", "0.250000:0", "3.000000:0", "2.000000:1"], result


def check_parameters():
    for module, one in both("half"):
        result = one.infer("default", [floats(module, 2)], priority=1, timeout=5_000_000, parameters={"mine": "yes"})
        assert result.as_numpy("y")[0] == 3


def check_streams():
    one = client("half", "grpc")
    answers = queue.Queue()
    one.start_stream(lambda result, error: answers.put((result, error)))
    for id in range(100):
        model = "no" if id == 50 else "default"
        one.async_stream_infer(model, [floats(grpc, id)], request_id=str(id))
    seen = {}
    for _ in range(100):
        result, error = answers.get(timeout=10)
        if error is None:
            seen[int(result.get_response().id)] = result.as_numpy("y")[0]
        else:
            assert error.message() == "Request for unknown model: 'no' is not found. This server has default.", error
    one.stop_stream()
    assert seen == {id: id / 2 + 2 for id in range(100) if id != 50}


def check_final_response_of_streams():
    one = client("half", "grpc")
    answers = queue.Queue()
    one.start_stream(lambda result, error: answers.put((result, error)))
    one.async_stream_infer("default", [floats(grpc, 1)], enable_empty_final_response=True)
    result, error = answers.get(timeout=10)
    one.stop_stream()
    assert error is None and result.get_response().parameters["triton_final_response"].bool_param, error


def check_asynchronous_calls():
    answers = queue.Queue()
    client("half", "grpc").async_infer("default", [floats(grpc, 4)], lambda result, error: answers.put((result, error)))
    result, error = answers.get(timeout=10)
    assert error is None and result.as_numpy("y")[0] == 4
    over_http = http.InferenceServerClient(SERVERS["half"]["http"], concurrency=4)
    pending = [over_http.async_infer("default", [floats(http, number)]) for number in range(8)]
    assert [one.get_result().as_numpy("y")[0] for one in pending] == [number / 2 + 2 for number in range(8)]


def check_errors():
    for module, one in both("half"):
        codes = {"grpc": lambda name, _: f"StatusCode.{name}", "http": lambda _, status: str(status)}
        status = codes["grpc" if module is grpc else "http"]
        unknown, wrong = status("NOT_FOUND", 404), status("INVALID_ARGUMENT", 400)
        infer = lambda *inputs, model="default", **more: lambda: one.infer(model, list(inputs), **more)
        x = floats(module, 1)
        fails(infer(x, model="no"), unknown, "Request for unknown model: 'no' is not found. This server has default.")
        fails(infer(x, model_version="9"), unknown, "Request for unknown model: 'default' version 9 is not found. It has version 1.")
        fails(lambda: one.get_model_metadata("no"), unknown, "Request for unknown model: 'no' is not found. This server has default.")
        fails(lambda: one.get_model_config("no"), unknown, "Request for unknown model: 'no' is not found. This server has default.")
        fails(
            infer(floats(module, 1, name="z")),
            wrong,
            "unexpected inference input 'z' for model 'default'. The model takes 'x' FP32 [-1].",
        )
        fails(
            infer(x, floats(module, 1, name="z")),
            wrong,
            "expected 1 inputs but got 2 inputs for model 'default'. Got input(s) ['x','z']. "
            "Please provide all required input(s). The model takes 'x' FP32 [-1].",
        )
        fails(
            infer(tensor(module, "x", np.array([1], np.int32), "INT32"), request_id="7"),
            wrong,
            "inference input 'x' data-type is 'INT32', but model 'default' expects 'FP32'",
        )
        fails(
            infer(tensor(module, "x", np.ones((1, 2), np.float32), "FP32")),
            wrong,
            "unexpected shape for input 'x' for model 'default'. Expected [-1], got [1,2].",
        )
        outputs = [module.InferRequestedOutput("z")]
        gives = "unexpected inference output 'z' for model 'default'. The model gives 'y' FP32 [-1]."
        fails(infer(x, outputs=outputs), wrong, gives)


def check_repository():
    for wire in ["grpc", "http"]:
        one = client("text", wire)
        one.unload_model("default")
        assert not one.is_server_live() or not ready(one)
        one.load_model("default")
        assert ready(one)
        index = one.get_model_repository_index(**({"as_json": True} if wire == "grpc" else {}))
        [model] = index["models"] if wire == "grpc" else index
        assert (model["name"], model["version"], model["state"]) == ("default", "1", "READY"), index


def check_tensors_in_shared_memory():
    if sys.platform != "linux":
        return
    for wire in WIRES:
        name = f"kserving-test-{os.getpid()}-{wire}"
        memory = shared_memory.create_shared_memory_region(name, f"/{name}", 4096)
        try:
            in_shared_memory(wire, name, memory)
        finally:
            shared_memory.destroy_shared_memory_region(memory)


def in_shared_memory(wire, name, memory):
    module, one = WIRES[wire], client("echo", wire)
    one.unregister_system_shared_memory()
    one.unregister_cuda_shared_memory()
    one.register_system_shared_memory(name, f"/{name}", 4000, offset=96)
    exists = "StatusCode.ALREADY_EXISTS" if wire == "grpc" else "409"
    again = lambda: one.register_system_shared_memory(name, f"/{name}", 4000)
    fails(again, exists, f"shared memory region '{name}' already in manager")
    for datatype in ["FP32", "INT64", "BYTES"]:
        sent = values(datatype)
        raw = serialize_byte_tensor(sent) if datatype == "BYTES" else sent
        size = len(raw.item()) if datatype == "BYTES" else sent.nbytes
        shared_memory.set_shared_memory_region(memory, [raw], offset=96)
        x = module.InferInput("x", list(sent.shape), datatype)
        x.set_shared_memory(name, size)
        x_out = module.InferRequestedOutput("x")
        x_out.set_shared_memory(name, 2000, offset=2000)
        y = floats(module, 1.5, name="y")
        result = one.infer("default", [x, y], outputs=[x_out, module.InferRequestedOutput("y")])
        assert (result.as_numpy("y") == [1.5]).all(), result.as_numpy("y")
        same(shared_memory.get_contents_as_numpy(memory, sent.dtype, sent.shape, offset=2096).copy(), sent)
    one.unregister_system_shared_memory(name)


def ready(one):
    try:
        return one.is_model_ready("default")
    except InferenceServerException:
        return False


def check_settings():
    for wire in ["grpc", "http"]:
        one = client("half", wire)
        as_json = {"as_json": True} if wire == "grpc" else {}
        assert "log_verbose_level" in json.dumps(one.get_log_settings(**as_json))
        assert "trace_level" in json.dumps(one.get_trace_settings(**as_json))
        for is_logged in [False, True]:
            settings = one.update_log_settings({"log_info": is_logged, "log_verbose_level": 1}, **as_json)
            told = settings["log_info"] if wire == "http" else settings["settings"]["log_info"]["bool_param"]
            assert told is is_logged, settings
        unsupported = "StatusCode.UNIMPLEMENTED" if wire == "grpc" else "501"
        message = "log file location can not be updated through network protocol; start the server with --log-path"
        fails(lambda: one.update_log_settings({"log_file": "x"}), unsupported, message)
        tracing = "trace file location can not be updated through network protocol"
        fails(lambda: one.update_trace_settings(settings={"trace_file": "x"}), unsupported, tracing)
        off = one.update_trace_settings("default", {"trace_level": ["OFF"], "trace_rate": None}, **as_json)
        assert "OFF" in json.dumps(off), off


for name, check in list(globals().items()):
    if name.startswith("check_"):
        problem = None
        try:
            check()
        except Exception:
            problem = traceback.format_exc()
        print(json.dumps({"check": name, "problem": problem}), flush=True)
