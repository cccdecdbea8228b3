"""Writes the vectors that Python's onnxruntime gives for batches of tokens, as bits: argv has the model, the batches and the file to write."""

import json
import sys

import numpy as np
import onnxruntime

model, batches, answer = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options)


def vectors(batch):
    feeds = {name: np.array(rows, np.int64) for name, rows in batch.items()}
    (hidden,) = session.run(["last_hidden_state"], feeds)
    return [vector(row, mask) for row, mask in zip(hidden, feeds["attention_mask"])]


def vector(hidden, mask):
    """The mean of the tokens, with a length of 1, in the order in which the server adds."""
    total = np.zeros(hidden.shape[1])
    for token in hidden[mask == 1]:
        total += token
    mean = (total / mask.sum()).astype(np.float32)
    length = 0.0
    for value in mean.tolist():
        length += value * value
    return (mean.astype(np.float64) / max(length**0.5, 1e-12)).astype(np.float32).view(np.uint32).tolist()


with open(batches) as file:
    made = [vectors(batch) for batch in json.load(file)]
with open(answer, "w") as file:
    json.dump({"version": onnxruntime.__version__, "vectors": made}, file)
