"""Python OpenVINO, asked line by line in JSON: makes the models, then loads and runs them in a loop of its own.

{"make": FOLDER} saves convolutions.xml and tiny.xml there. {"load": PATH, "config": {...}, "shape": [...]} answers {"ms"}, and that model
is the one asked from then on. {"seconds": S} calls it over and over and answers {"perSecond", "p50Ms"}; with {"queue": N} through an
AsyncInferQueue of N requests.
"""

import json
import os
import sys
import time

import numpy as np
import openvino as ov
from openvino import opset13 as op

core = ov.Core()
state = {}
LAYERS = [(32, 2), (64, 2), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]


def parameter(name, shape):
    node = op.parameter(ov.PartialShape(shape), ov.Type.f32, name=name)
    node.output(0).set_names({name})
    return node


def save(node, name, inputs, path):
    node.output(0).set_names({name})
    ov.save_model(ov.Model([op.result(node)], inputs, os.path.basename(path)), path, compress_to_fp16=False)


def make(folder):
    random = np.random.default_rng(0)
    node = image = parameter("image", [1, 3, 224, 224])
    given = 3
    for made, stride in LAYERS:
        weights = (random.standard_normal((made, given, 3, 3)) * np.sqrt(2 / (given * 9))).astype("f")
        node = op.relu(op.convolution(node, op.constant(weights), [stride, stride], [1, 1], [1, 1], [1, 1]))
        given = made
    mean = op.reduce_mean(node, op.constant(np.array([2, 3], np.int64)), False)
    logits = op.matmul(mean, op.constant((random.standard_normal((512, 1000)) * 0.05).astype("f")), False, False)
    save(logits, "logits", [image], os.path.join(folder, "convolutions.xml"))
    x = parameter("x", [1, 4])
    save(op.add(x, op.constant(np.float32(1))), "y", [x], os.path.join(folder, "tiny.xml"))
    return {}


def load(path, config):
    start = time.perf_counter()
    fresh = ov.Core()
    compiled = fresh.compile_model(path, "CPU", config)
    request = compiled.create_infer_request()
    ms = 1000 * (time.perf_counter() - start)
    shape = [dim.get_length() for dim in compiled.inputs[0].partial_shape]
    state.update(core=fresh, compiled=compiled, request=request, given=np.full(shape, 0.5, "f"))
    return {"ms": ms}


def press(seconds):
    request, given, times = state["request"], state["given"], []
    begin = time.perf_counter()
    while (start := time.perf_counter()) < begin + seconds:
        request.infer({0: given}, share_inputs=True)
        request.get_output_tensor(0).data.copy()
        times.append(1000 * (time.perf_counter() - start))
    return {"perSecond": len(times) / (time.perf_counter() - begin), "p50Ms": sorted(times)[len(times) // 2]}


def press_queue(seconds, size):
    queue = ov.AsyncInferQueue(state["compiled"], size)
    queue.set_callback(lambda request, _: request.get_output_tensor(0).data.copy())
    count, begin = 0, time.perf_counter()
    while time.perf_counter() < begin + seconds:
        queue.start_async({0: state["given"]})
        count += 1
    queue.wait_all()
    return {"perSecond": count / (time.perf_counter() - begin), "p50Ms": 0}


for line in sys.stdin:
    question = json.loads(line)
    if "make" in question:
        answer = make(question["make"])
    elif "load" in question:
        answer = load(question["load"], question["config"])
    elif "queue" in question:
        answer = press_queue(question["seconds"], question["queue"])
    else:
        answer = press(question["seconds"])
    print("ANSWER " + json.dumps(answer), flush=True)
