"""Python TensorFlow, asked line by line in JSON: makes the models, then loads and runs them as a Python server would.

{"make": FOLDER} saves mobilenet and dense there. {"load": PATH} answers {"ms"}, and that model is the one asked from then on.
{"seconds": S, "threads": N} calls the default signature from N threads and answers {"perSecond", "p50Ms"}.
"""

import json
import os
import sys
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

intra, inter = (int(text) for text in sys.argv[1:3])
tf.config.threading.set_intra_op_parallelism_threads(intra)
tf.config.threading.set_inter_op_parallelism_threads(inter)
state = {}


def make(folder):
    import keras

    mobilenet = keras.applications.MobileNetV2(weights=None, input_shape=(224, 224, 3))
    mobilenet.export(os.path.join(folder, "mobilenet"), verbose=False)
    layers = [keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10, activation="softmax")]
    keras.Sequential([keras.Input((64,)), *layers]).export(os.path.join(folder, "dense"), verbose=False)
    return {}


def load(path):
    start = time.perf_counter()
    model = tf.saved_model.load(path)
    ms = 1000 * (time.perf_counter() - start)
    signature = model.signatures["serving_default"]
    (name, spec) = list(signature.structured_input_signature[1].items())[0]
    given = np.full([size or 1 for size in spec.shape], 0.5, "f")
    state.update(model=model, call=lambda: next(iter(signature(**{name: tf.constant(given)}).values())).numpy())
    return {"ms": ms}


def press(seconds, threads):
    end = time.perf_counter() + seconds
    times = []

    def loop():
        while (start := time.perf_counter()) < end:
            state["call"]()
            times.append(1000 * (time.perf_counter() - start))

    start = time.perf_counter()
    workers = [threading.Thread(target=loop) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {"perSecond": len(times) / (time.perf_counter() - start), "p50Ms": float(np.median(times))}


for line in sys.stdin:
    question = json.loads(line)
    if "make" in question:
        answer = make(question["make"])
    elif "load" in question:
        answer = load(question["load"])
    else:
        answer = press(question["seconds"], question["threads"])
    print("ANSWER " + json.dumps(answer), flush=True)
