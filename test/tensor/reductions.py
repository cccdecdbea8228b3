"""Prints random tensors and what numpy computes of them, one JSON object a line.

    python3 reductions.py COUNT SEED
"""

import json
import sys

import numpy as np

count, seed = int(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(seed)


def softmax(values, axis):
    powers = np.exp(values - values.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


for _ in range(count):
    shape = [int(size) for size in random.integers(1, 5, random.integers(1, 5))]
    axis = int(random.integers(-len(shape), len(shape)))
    # Few different values: ties are common.
    values = random.integers(-4, 5, shape).astype(np.float64)
    k = int(random.integers(1, 5))
    order = np.argsort(-values, axis=axis, kind="stable")
    kept = np.take(order, range(min(k, shape[axis])), axis=axis)
    print(
        json.dumps(
            {
                "shape": shape,
                "axis": axis,
                "k": k,
                "values": values.ravel().tolist(),
                "softmax": softmax(values, axis).ravel().tolist(),
                "argmax": np.argmax(values, axis=axis).ravel().tolist(),
                "topShape": list(kept.shape),
                "topIndices": kept.ravel().tolist(),
                "topValues": np.take_along_axis(values, kept, axis=axis).ravel().tolist(),
            }
        )
    )
