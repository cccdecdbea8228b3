"""Makes the models of TensorFlow.js that the tests use: graph models from the SavedModels in test/fixtures/tensorflow,
layers models from the .h5 files of Keras 3 in test/fixtures/tensorflow-formats.

    python3 -m pip install tensorflow-cpu tf-keras && python3 -m pip install --no-deps tensorflowjs && python3 scripts/make-tensorflowjs-models.py [NAME ...]

writes test/fixtures/tensorflow-formats/NAME/model.json with its weights, and the cases.json of what it was made from beside it.
"""

import json
import os
import shutil
import sys
import types
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow  # noqa: F401  (before the stand-ins below)

# The converter imports these, and uses nothing of them for a SavedModel.
for name in ["tensorflow_decision_forests", "jax", "jax.experimental", "jax.experimental.jax2tf", "tensorflow_hub"]:
    sys.modules[name] = types.ModuleType(name)
sys.modules["jax.experimental"].jax2tf = sys.modules["jax.experimental.jax2tf"]
sys.modules["jax"].experimental = sys.modules["jax.experimental"]
# It was written for numpy 1.
for name in ["object", "bool", "int", "float"]:
    if not hasattr(np, name):
        setattr(np, name, getattr(__import__("builtins"), name))

from tensorflowjs.converters import keras_h5_conversion
from tensorflowjs.converters import tf_saved_model_conversion_v2 as converter

FIXTURES = Path(__file__).resolve().parent.parent / "test" / "fixtures"

def beyond_32_bits(case):
    """TensorFlow.js has no greater integers."""
    wide = [value for value in case["inputs"].values() if value["dtype"] == "int64"]
    return any(abs(int(element)) >= 2**31 for value in wide for element in value["data"])


QUANTIZED = {kind: {"quantization_dtype_map": {kind: "*"}} for kind in ("uint8", "uint16", "float16")}
MODELS = {
    "js_convolution_uint8": ("keras_convolution", QUANTIZED["uint8"]),
    "js_convolution_uint16": ("keras_convolution", QUANTIZED["uint16"]),
    "js_convolution_float16": ("keras_convolution", QUANTIZED["float16"]),
    "js_gru": ("keras_gru", {"control_flow_v2": True}),
    "js_lstm": ("keras_lstm", {"control_flow_v2": True}),
    "js_attention": ("keras_attention", {}),
    "js_endless": ("endless", {"control_flow_v2": True}),
    "js_control_flow": ("control_flow", {"control_flow_v2": True}),
    "js_scan_and_map": ("scan_and_map", {"control_flow_v2": True}),
    "js_table": ("table_of_values", {}),
    "js_two_inputs": ("keras_two_inputs", {}),
    "js_int16": ("dtype_int16", {}),
}

# Layers models, by the .h5 files that they are made from.
LAYERS = {
    "js_layers_sequential": "convolution",
    "js_layers_nested": "nested",
    "js_layers_bidirectional": "bidirectional",
    "js_layers_attention": "own_attention",
}


def convert_graph(name, folder):
    source, options = MODELS[name]
    converter.convert_tf_saved_model(str(FIXTURES / "tensorflow" / source), str(folder), **options)
    cases = json.loads((FIXTURES / "tensorflow" / source / "cases.json").read_text())
    return [case for case in cases if case["signature"] == "serving_default" and not beyond_32_bits(case)]


def convert_layers(name, folder):
    source = FIXTURES / "tensorflow-formats" / LAYERS[name]
    topology, groups = keras_h5_conversion.h5_merged_saved_model_to_tfjs_format(str(source / "model.h5"))
    folder.mkdir()
    keras_h5_conversion.write_artifacts(topology, groups, str(folder))
    return json.loads((source / "cases.json").read_text())


for name in sys.argv[1:] or [*MODELS, *LAYERS]:
    target = FIXTURES / "tensorflow-formats" / name
    shutil.rmtree(target, ignore_errors=True)
    made = convert_graph(name, target) if name in MODELS else convert_layers(name, target)
    (target / "cases.json").write_text(json.dumps(made) + "\n")
