"""Makes the OpenVINO models of the tests, and what Python OpenVINO computes with them and with models of other formats.

    python3 -m pip install openvino && python3 scripts/make-openvino-models.py [--check]

writes test/fixtures/openvino/NAME/ (model.xml, model.bin) with a cases.json: {"path"?, "runs": [{"inputs", "outputs"}]}, where tensors
are as in scripts/make-tensorflow-models.py, and path is a model elsewhere in the repository. The runs of a stateful model follow one another.
The files are committed, so that only whoever adds a model needs Python; --check says whether Python computes with the committed models
what is committed.
"""

import base64
import json
import sys
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import Model, PartialShape, Type
from openvino import opset13 as op
from openvino import opset15
from openvino.op import util

REPOSITORY = Path(__file__).resolve().parent.parent
ROOT = REPOSITORY / "test" / "fixtures" / "openvino"
CORE = ov.Core()
CONFIG = {"INFERENCE_PRECISION_HINT": "f32"}
CHECK = "--check" in sys.argv
MODELS = {}

NUMPY = {"boolean": "bool", "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "string": "bytes"}
NUMPY |= {f"{sign}{bits}": f"{word}{bits}" for sign, word in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)}


def model(make):
    """Registers a maker, which returns a model and the inputs of each run."""
    MODELS[make.__name__] = make
    return make


def parameter(name, kind, shape):
    node = op.parameter(PartialShape(shape), kind, name=name)
    node.output(0).set_names({name})
    return node


def named(node, name, index=0):
    node.output(index).set_names({name})
    return node.output(index)


def result(node, name):
    return op.result(named(node, name))


def floats(*shape):
    return np.random.default_rng(len(shape) + sum(shape)).normal(size=shape).astype("f")


@model
def add_multiply():
    x, y = parameter("x", Type.f32, [-1, 4]), parameter("y", Type.f32, [-1, 4])
    x.output(0).set_names({"x", "x_alias"})
    graph = Model([result(op.add(x, y), "sum"), result(op.multiply(x, y), "product")], [x, y], "add_multiply")
    return graph, [{"x": floats(2, 4), "y": floats(2, 4) + 1}, {"x": floats(1, 4), "y": floats(1, 4)}, {"x": floats(0, 4), "y": floats(0, 4)}]


def typed(name):
    def make():
        kind = getattr(Type, name)
        x = parameter("x", kind, [-1])
        twice = op.logical_not(x) if name == "boolean" else op.add(x, x)
        graph = Model([result(twice, "twice"), op.result(named(op.reshape(x, np.array([-1, 1]), False), "same"))], [x], name)
        return graph, [{"x": values(name)}]

    MODELS[f"type_{name}"] = make


def values(name):
    if name == "boolean":
        return np.array([True, False, True])
    if name.startswith(("f", "bf")):
        return np.array([1.5, -2.25, 0.0, 3.0], "f").astype("float16" if name == "f16" else "float64" if name == "f64" else "float32")
    return np.array([1, 2, 3, 100 if name.startswith("u") else -7], NUMPY[name]) // (2 if name.endswith("8") else 1)


for each in ["boolean", "f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]:
    typed(each)


@model
def carried():
    """Without an operator, every bit is kept."""
    x = parameter("x", Type.i64, [-1])
    return Model([op.result(x)], [x], "carried"), [{"x": np.array([2**53 + 1, -(2**62)])}]


@model
def strings():
    text = parameter("text", Type.string, [-1])
    unpacked = opset15.string_tensor_unpack(text)
    packed = opset15.string_tensor_pack(*(unpacked.output(i) for i in range(3)))
    ends = op.result(named(unpacked, "ends", 1))
    return Model([result(packed, "same"), ends], [text], "strings"), [{"text": np.array(["hello", "", "wörld ✓", "x" * 100])}]


@model
def scalar():
    x = parameter("x", Type.f32, [])
    return Model([result(op.multiply(x, np.float32(3)), "y")], [x], "scalar"), [{"x": np.array(2.5, "f")}]


@model
def any_rank():
    """The CPU takes it with a shape alone."""
    x = op.parameter(PartialShape.dynamic(), Type.f32, name="x")
    x.output(0).set_names({"x"})
    return Model([result(op.relu(x), "y")], [x], "any_rank"), []


@model
def fixed():
    x = parameter("x", Type.f32, [1, 3, 4, 4])
    weights = floats(2, 3, 3, 3)
    node = op.convolution(x, op.constant(weights), [1, 1], [1, 1], [1, 1], [1, 1])
    return Model([result(op.relu(node), "y")], [x], "fixed"), [{"x": floats(1, 3, 4, 4)}]


@model
def convolutions():
    node = x = parameter("image", Type.f32, [-1, 3, 16, 16])
    random = np.random.default_rng(1)
    for given, made in ((3, 8), (8, 8), (8, 16)):
        weights = random.normal(size=(made, given, 3, 3)).astype("f") * 0.3
        node = op.relu(op.convolution(node, op.constant(weights), [2, 2], [1, 1], [1, 1], [1, 1]))
    mean = op.reduce_mean(node, op.constant(np.array([2, 3], np.int64)), False)
    logits = op.matmul(mean, op.constant(random.normal(size=(16, 5)).astype("f")), False, False)
    return Model([result(op.softmax(logits, 1), "probabilities")], [x], "convolutions"), [{"image": floats(2, 3, 16, 16)}, {"image": floats(1, 3, 16, 16)}]


@model
def pooled():
    """A window that sizes from the request may not fill."""
    x = parameter("x", Type.f32, [-1, 3, -1, -1])
    node = op.avg_pool(op.relu(x), [2, 2], [0, 0], [0, 0], [2, 2], True)
    graph = Model([result(op.multiply(node, np.float32(2)), "y")], [x], "pooled")
    return graph, [{"x": floats(2, 3, 4, 8)}, {"x": floats(1, 3, 4, 4)}]


@model
def counted():
    """The size of one summand is a value of the request."""
    x, count = parameter("x", Type.f32, [-1]), parameter("count", Type.i32, [])
    numbers = op.range(op.constant(np.int32(0)), count, op.constant(np.int32(1)), "i32")
    graph = Model([result(op.add(op.convert(numbers, "f32"), x), "y")], [x, count], "counted")
    return graph, [{"x": floats(4), "count": np.array(4, np.int32)}, {"x": floats(6), "count": np.array(6, np.int32)}]


@model
def branches():
    """Only one of its branches takes small images."""
    x, wide = parameter("x", Type.f32, [-1, 3, -1, -1]), parameter("wide", Type.boolean, [1])
    node = op.if_op(wide)
    bodies = []
    for kernel in (4, 1):
        inner = op.parameter(PartialShape([-1, 3, -1, -1]), Type.f32)
        bodies.append(Model([op.result(op.avg_pool(inner, [1, 1], [0, 0], [0, 0], [kernel, kernel], True))], [inner], "body"))
    node.set_then_body(bodies[0])
    node.set_else_body(bodies[1])
    node.set_input(x.output(0), bodies[0].inputs[0].get_node(), bodies[1].inputs[0].get_node())
    node.set_output(bodies[0].results[0], bodies[1].results[0])
    graph = Model([result(node, "y")], [x, wide], "branches")
    return graph, [{"x": floats(1, 3, 5, 5), "wide": np.array([True])}, {"x": floats(1, 3, 2, 2), "wide": np.array([False])}]


@model
def dense():
    """Its input's width is given by the weights."""
    x = parameter("x", Type.f32, [-1, 3])
    return Model([result(op.matmul(x, op.constant(floats(3, 2)), False, False), "y")], [x], "dense"), [{"x": floats(5, 3)}]


@model
def accumulate():
    x = parameter("x", Type.f32, [1, 2])
    info = util.VariableInfo()
    info.data_shape, info.data_type, info.variable_id = PartialShape([1, 2]), Type.f32, "total"
    variable = util.Variable(info)
    before = opset15.read_value(op.constant(np.zeros((1, 2), "f")), variable)
    total = op.add(before, x)
    graph = Model([result(total, "total")], [opset15.assign(total, variable)], [x], "accumulate")
    return graph, [{"x": np.array([[1, 2]], "f")}, {"x": np.array([[10, 20]], "f")}]


@model
def loop():
    """Sums a vector as often as it is told to."""
    turns, x = parameter("turns", Type.i64, []), parameter("x", Type.f32, [-1])
    inner, once = parameter("inner", Type.f32, [-1]), parameter("once", Type.f32, [-1])
    body = Model([op.add(inner, once), op.constant(True)], [inner, once], "body")
    node = op.loop(turns, op.constant(True))
    node.set_function(body)
    node.set_special_body_ports([-1, 1])
    node.set_merged_input(inner, x.output(0), body.results[0].output(0))
    node.set_invariant_input(once, x.output(0))
    total = node.get_iter_value(body.results[0].output(0), -1)
    total.set_names({"total"})
    return Model([op.result(total)], [turns, x], "loop"), [{"turns": np.array(3, np.int64), "x": floats(4)}]


@model
def chain():
    """Takes long for a large matrix, and may be cancelled between two of its operators."""
    node = x = parameter("x", Type.f32, [-1, -1])
    for _ in range(40):
        node = op.matmul(node, x, False, False)
    return Model([result(node, "y")], [x], "chain"), [{"x": np.eye(3, dtype="f") * 0.5}]


@model
def half_byte():
    x = parameter("x", Type.u4, [2])
    return Model([result(op.convert(x, "u8"), "y")], [x], "half_byte"), []


PADDLE = "openvino/paddle_relu/relu.pdmodel"


def field(number, value):
    """One field of a protobuf message: a number, a text, or the bytes of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value % 2**64)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def paddle_model():
    """PaddlePaddle's ProgramDesc (framework.proto) of one Relu, for whoever has no PaddlePaddle: its variables, and its operators with their arguments."""
    float32 = field(1, 7) + field(3, field(1, field(1, 5) + field(2, -1) + field(2, 3)))
    variables = {"feed": field(1, 9), "fetch": field(1, 10), "x": float32, "y": float32}
    column = field(4, field(1, "col") + field(2, 0) + field(3, 0))
    operators = [("feed", "feed", "x", column), ("relu", "x", "y", b""), ("fetch", "y", "fetch", column)]
    block = field(1, 0) + field(2, -1)
    for name, kind in variables.items():
        block += field(3, field(1, name) + field(2, kind))
    for kind, given, made, rest in operators:
        slots = field(1, field(1, "X") + field(2, given)) + field(2, field(1, "Out") + field(2, made))
        block += field(4, slots + field(3, kind) + rest)
    return field(1, block)


ELSEWHERE = {
    "onnx_matmul": ("models/matmul-dynamic-batch.onnx", {"x": floats(2, 3)}),
    "onnx_split": ("models/split-two-outputs.onnx", {"x": floats(2, 4)}),
    "saved_model_dense": ("tensorflow/keras_dense", {"keras_tensor": floats(2, 8)}),
    "paddle_relu": (PADDLE, {"x": floats(2, 3)}),
    "frozen_graph": ("tensorflow/frozen_graph/frozen.pb", {"x:0": floats(2, 3)}),
    "tflite_two_inputs": (
        "tensorflow-formats/lite_two_inputs/model.tflite",
        {"a": floats(2, 3), "b": floats(2, 3) + 1},
    ),
}
# The names of a .tflite file's signature, by those that OpenVINO has.
SIGNATURE_NAMES = {
    "serving_default_a:0": "a",
    "serving_default_b:0": "b",
    "PartitionedCall:1": "sum",
    "PartitionedCall:0": "product",
}


def name_of(port):
    return SIGNATURE_NAMES.get(port.any_name, port.any_name)


def elements(array):
    if array.dtype.kind in "OSU":
        return [base64.b64encode(text.encode()).decode() for text in array.reshape(-1).tolist()]
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        return [str(number) for number in array.reshape(-1).tolist()]
    return array.reshape(-1).tolist()


def tensor(array, kind):
    dtype = NUMPY[kind.get_type_name()]
    return {"dtype": dtype, "shape": list(array.shape), "data": elements(array)}


def to_native(array, kind):
    """numpy has no bfloat16: its bits are the upper half of a float's."""
    if kind == Type.bf16:
        bits = (array.astype("f").view(np.uint32) >> 16).astype(np.uint16)
        return ov.Tensor(bits, ov.Shape(bits.shape), Type.bf16)
    return ov.Tensor(array) if array.dtype.kind in "US" else ov.Tensor(np.array(array, order="C"))


def from_native(native):
    if native.element_type == Type.bf16:
        return (native.data.view(np.uint16).astype(np.uint32) << 16).view("f")
    return native.str_data if native.element_type == Type.string else native.data.copy()


def run(request, given):
    ports = {name_of(port): port for port in request.model_inputs}
    for name, array in given.items():
        request.set_tensor(ports[name], to_native(array, ports[name].element_type))
    request.infer()
    outputs = {name_of(port): tensor(from_native(request.get_tensor(port)), port.element_type) for port in request.model_outputs}
    inputs = {name: tensor(array, ports[name].element_type) for name, array in given.items()}
    return {"inputs": inputs, "outputs": outputs}


def is_near(one, other):
    """Equal, but for the last digits of floats, which differ between processors."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_near(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_near, one, other))
    return bool(np.isclose(one, other, 1e-5, 1e-5, equal_nan=True)) if isinstance(one, float) else one == other


def settle(name, file, runs, **rest):
    """Writes what Python computes with a model, or compares it with what was written."""
    request = CORE.compile_model(file, "CPU", CONFIG).create_infer_request() if runs else None
    cases = {**rest, "runs": [run(request, given) for given in runs]}
    path = ROOT / name / "cases.json"
    if not CHECK:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(cases) + "\n")
    elif not is_near(json.loads(path.read_text()), cases):
        sys.exit(f"{name}: Python computes something else than is committed.")
    print(name)


for name, make in MODELS.items():
    graph, runs = make()
    path = ROOT / name / "model.xml"
    if not CHECK:
        path.parent.mkdir(parents=True, exist_ok=True)
        ov.save_model(graph, path, compress_to_fp16=False)
    settle(name, path, runs)
if not CHECK:
    paddle = REPOSITORY / "test" / "fixtures" / PADDLE
    paddle.parent.mkdir(parents=True, exist_ok=True)
    paddle.write_bytes(paddle_model())
for name, (place, given) in ELSEWHERE.items():
    path = REPOSITORY / "test" / "fixtures" / place
    settle(name, path, [given], path=str(path.relative_to(REPOSITORY)))
