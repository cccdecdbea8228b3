"""What TensorFlow does with graphs and inputs: one line of JSON for each, in processes of its own, since some end them.

    python judge_tensorflow.py CASES.jsonl > VERDICTS.jsonl

A case has `graph` (a GraphDef's file), `outputs` and `inputs`: {name: {dtype, shape, data}}, data in base64, or a list of
base64 for texts. A verdict has one of `outputs` (in the same form), `refused` (TensorFlow's message) and `died`.
"""

import base64
import json
import os
import re
import resource
import signal
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
if len(sys.argv) > 2:
    import numpy as np
    import tensorflow as tf

# What one run may take beyond what the process has.
MEMORY = 1 << 30
SECONDS = 3


def read(tensor):
    if tensor["dtype"] == "bytes":
        return np.array([base64.b64decode(x) for x in tensor["data"]] or [], dtype=object).reshape(tensor["shape"])
    return np.frombuffer(base64.b64decode(tensor["data"]), dtype=tensor["dtype"]).reshape(tensor["shape"])


def written(array):
    array = np.asarray(array)
    if array.nbytes > 1 << 16:
        return {"dtype": array.dtype.name, "shape": list(array.shape), "data": None}
    if array.dtype.kind in "OSU":
        flat = [x if isinstance(x, bytes) else str(x).encode() for x in array.reshape(-1).tolist()]
        return {"dtype": "bytes", "shape": list(array.shape), "data": [base64.b64encode(x).decode() for x in flat]}
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def run(case):
    graph = tf.compat.v1.GraphDef()
    with open(case["graph"], "rb") as file:
        graph.ParseFromString(file.read())
    feeds = {f"{name}:0": read(tensor) for name, tensor in case["inputs"].items()}
    try:
        with tf.Graph().as_default():
            tf.import_graph_def(graph, name="")
            config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
            with tf.compat.v1.Session(config=config) as session:
                values = session.run(case["outputs"], feeds)
        return {"outputs": dict(zip(case["outputs"], [written(value) for value in values]))}
    except Exception as error:
        text = re.split(r"Node: '\w+'\n|Graph execution error:\s*", str(error))[-1]
        return {"refused": text.split("\n")[0][:300]}


def limit_memory():
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def judge_from(first, path):
    limit_memory()
    with open(path) as file:
        for line in list(file)[first:]:
            signal.alarm(SECONDS)
            print(json.dumps(run(json.loads(line))), flush=True)


def judge(path):
    """All verdicts: a process is started again after each case that ends it."""
    with open(path) as file:
        count = len(list(file))
    verdicts = 0
    while verdicts < count:
        command = [sys.executable, __file__, path, str(verdicts)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in child.stdout:
            print(line, end="", flush=True)
            verdicts += 1
        if child.wait() != 0 and verdicts < count:
            print(json.dumps({"died": -child.returncode}), flush=True)
            verdicts += 1


if len(sys.argv) > 2:
    judge_from(int(sys.argv[2]), sys.argv[1])
else:
    judge(sys.argv[1])
