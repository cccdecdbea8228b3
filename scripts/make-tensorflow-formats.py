"""Makes the Keras and TFLite files of the tests, and what Python computes with them.

    python3 -m pip install tensorflow-cpu tf-keras && python3 scripts/make-tensorflow-formats.py [--check] [NAME ...]

writes test/fixtures/tensorflow-formats/NAME/ (model.keras, model.h5 or model.tflite) with a cases.json beside it
(tensorflow_cases.py says what that is). Models whose name begins with keras2 are written by tf-keras, which is Keras 2.
The files are committed, so that only whoever adds a model needs Python; --check says whether Python still gives the
committed values.
"""

import functools
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import numpy as np
import tensorflow as tf
import tf_keras
from flatbuffers import flexbuffers
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.lite.python import schema_py_generated as schema
from tensorflow.lite.tools import flatbuffer_utils
from tensorflow_cases import case, run_makers

ROOT = Path(__file__).resolve().parent.parent / "test" / "fixtures" / "tensorflow-formats"
KERAS = {}
TFLITE = {}


def saved_as(*files):
    """Registers a model of Keras: called with the module (keras or tf_keras) and its layers."""

    def register(make):
        KERAS[make.__name__] = (make, files)
        return make

    return register


def randomize(model, random):
    """Weights that no layer begins with, so that one left out or mixed up shows."""
    for weight in model.weights:
        name = getattr(weight, "path", weight.name)
        if "seed" in name:
            continue
        values = random.uniform(-0.8, 0.8, weight.shape)
        weight.assign(np.abs(values) + 0.3 if "variance" in name else values)
    for layer in model.layers:
        # What a normalization has learned is taken once.
        if hasattr(layer, "finalize_state"):
            layer.finalize_state()


def input_for(spec, random):
    shape = [2] + [5 if size is None else size for size in spec.shape[1:]]
    dtype = np.dtype(getattr(spec.dtype, "name", spec.dtype))
    if dtype.kind in "iu":
        return random.integers(0, 4, shape).astype(dtype)
    return random.normal(size=shape).astype(dtype)


def write_keras(name, folder):
    make, files = KERAS[name]
    library = tf_keras if name.startswith("keras2") else keras
    library.backend.clear_session()
    random = np.random.default_rng(7)
    model = make(library, library.layers)
    randomize(model, random)
    inputs = {spec.name: input_for(spec, random) for spec in model.inputs}
    given = list(inputs.values())
    results = model(given[0] if len(given) == 1 else given, training=False)
    results = results if isinstance(results, (list, tuple)) else [results]
    names = getattr(model, "output_names", None) or [model.layers[-1].name]
    for file in files:
        model.save(folder / file)
    return [case("serving_default", inputs, dict(zip(names, results)))]


def sequential(library, shape, *layers, dtype=None):
    return library.Sequential([library.Input(shape, name="x", dtype=dtype), *layers])


@saved_as("model.keras")
def dense(k, l):
    return sequential(
        k,
        (4,),
        l.Dense(5, activation="relu"),
        l.BatchNormalization(),
        l.Dropout(0.3),
        l.GaussianNoise(0.2),
        l.Dense(3, activation="softmax", name="y"),
    )


@saved_as("model.h5")
def convolution(k, l):
    return sequential(
        k,
        (8, 8, 3),
        l.Rescaling(1 / 127.5, offset=-1.0),
        l.Conv2D(4, 3, padding="same", use_bias=False),
        l.BatchNormalization(),
        l.ReLU(6.0),
        l.MaxPooling2D(),
        l.Conv2D(3, 2, dilation_rate=2, activation="swish"),
        l.AveragePooling2D(2, padding="same"),
        l.GlobalAveragePooling2D(),
        l.Dense(2, name="y"),
        dtype="uint8",
    )


@saved_as("model.keras", "model.h5")
def depthwise(k, l):
    return sequential(
        k,
        (7, 7, 3),
        l.DepthwiseConv2D(3, depth_multiplier=2, padding="same"),
        l.LeakyReLU(0.2),
        l.ZeroPadding2D(((0, 1), (1, 0))),
        l.DepthwiseConv2D(3, strides=2),
        l.SeparableConv2D(4, 2, activation="tanh"),
        l.UpSampling2D(2),
        l.Cropping2D(1),
        l.GlobalMaxPooling2D(name="y"),
    )


@saved_as("model.h5")
def convolution_transposed(k, l):
    return sequential(
        k,
        (5, 5, 3),
        l.Conv2DTranspose(4, 3, strides=2, padding="same", activation="softplus"),
        l.PReLU(shared_axes=[1, 2]),
        l.Conv2DTranspose(2, 2, name="y"),
    )


@saved_as("model.keras")
def convolution_1d(k, l):
    return sequential(
        k,
        (10, 3),
        l.Conv1D(4, 3, padding="same", activation="selu"),
        l.MaxPooling1D(),
        l.LayerNormalization(),
        l.AveragePooling1D(2, padding="same"),
        l.GlobalAveragePooling1D(name="y"),
    )


@saved_as("model.keras")
def negative_pooling_3d(k, l):
    return sequential(k, (4, 4, 4, 1), l.Conv3D(2, 2), l.MaxPooling3D(2), l.Flatten(name="y"))


@saved_as("model.keras")
def lstm(k, l):
    return sequential(k, (6, 3), l.LSTM(5, return_sequences=True, go_backwards=True), l.LSTM(4, name="y"))


@saved_as("model.h5", "model.keras")
def gru(k, l):
    return sequential(k, (6, 3), l.GRU(5, return_sequences=True), l.GRU(4, reset_after=False, name="y"))


@saved_as("model.keras", "model.h5")
def bidirectional(k, l):
    return sequential(
        k,
        (None, 3),
        l.Bidirectional(l.LSTM(4, return_sequences=True)),
        l.Bidirectional(l.GRU(3), merge_mode="sum"),
        l.Dense(2, name="y"),
    )


@saved_as("model.h5")
def embedding_with_mask(k, l):
    return sequential(
        k,
        (7,),
        l.Embedding(11, 4, mask_zero=True),
        l.SimpleRNN(3, return_sequences=True),
        l.GRU(2, name="y"),
        dtype="int64",
    )


@saved_as("model.keras", "model.h5")
def two_inputs(k, l):
    first, second = k.Input((4,), name="first"), k.Input((6,), name="second")
    encode = l.Dense(5, activation="gelu")
    both = l.Concatenate()([encode(first), encode(l.Dense(4)(second))])
    return k.Model([first, second], [l.Dense(2, name="left")(both), l.Dense(3, activation="softmax", name="right")(both)])


@saved_as("model.h5")
def merging(k, l):
    a, b = k.Input((4,), name="a"), k.Input((4,), name="b")
    layers = [l.Add, l.Multiply, l.Average, l.Maximum, l.Minimum]
    return k.Model([a, b], [make(name=make.__name__.lower())([a, b]) for make in layers] + [l.Dot(-1, normalize=True)([a, b])])


@saved_as("model.keras")
def activations(k, l):
    x = k.Input((6,), name="x")
    h = l.Dense(6)(x)
    names = "relu relu6 elu selu softplus softsign tanh sigmoid linear gelu silu mish softmax log_softmax".split()
    return k.Model(x, [l.Activation(name, name=name)(h) for name in names])


@saved_as("model.keras", "model.h5")
def nested(k, l):
    """Models of equal shapes within each other, some layers frozen: their weights are easily mixed up."""

    def block(name):
        return k.Sequential([k.Input((4,)), l.Dense(4), l.BatchNormalization(), l.Dense(4)], name=name)

    inner = block("inner")
    outer = k.Sequential([k.Input((4,)), inner, l.Dense(4), l.BatchNormalization()], name="outer")
    inner.layers[0].trainable = False
    outer.layers[-1].trainable = False
    x = k.Input((4,), name="x")
    return k.Model(x, l.Dense(4, name="y")(outer(block("first")(x))))


@saved_as("model.keras", "model.h5")
def own_shaping(k, l):
    """Layers without weights that TensorFlow.js lacks, or has with fewer options."""
    a, b = k.Input((6, 3), name="a"), k.Input((1, 3), name="b")
    x = l.Subtract()([a, b])
    x = l.Cropping1D((1, 2))(l.UpSampling1D(2)(l.ZeroPadding1D((2, 1))(x)))
    image = l.GlobalMaxPooling2D(keepdims=True)(l.Reshape((3, 5, 3))(x))
    space = l.Cropping3D(((1, 0), 1, (0, 1)))(l.ZeroPadding3D(1)(l.UpSampling3D((1, 2, 1))(l.Reshape((3, 1, 5, 3))(x))))
    last = l.GlobalAveragePooling3D(name="space")(space)
    means = l.GlobalAveragePooling1D(keepdims=True, name="means")(l.Identity()(x))
    return k.Model([a, b], [l.Softmax(axis=1, name="soft")(x), l.Flatten(name="image")(image), last, means])


@saved_as("model.keras", "model.h5")
def own_normalizing(k, l):
    x = k.Input((4, 6), name="x")
    h = l.Normalization()(l.Normalization(mean=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], variance=[4.0, 9.0, 1.0, 2.0, 3.0, 5.0])(x))
    h = l.GroupNormalization(3)(l.Dense(6)(h))
    outputs = [l.GroupNormalization(-1, center=False, name="each")(h), l.UnitNormalization(name="unit")(h)]
    inverse = l.Normalization(mean=1.0, variance=4.0, axis=None, invert=True, name="inverse")
    return k.Model(x, [*outputs, l.RMSNormalization(name="rms")(h), inverse(h)])


@saved_as("model.keras", "model.h5")
def own_attention(k, l):
    query, value = k.Input((4, 6), name="query"), k.Input((5, 3), name="value")
    heads = l.MultiHeadAttention(2, 3, name="heads")(query, value)
    wide = l.MultiHeadAttention(3, 2, value_dim=4, output_shape=5, use_bias=False, name="wide")(query, value=value, key=value)
    dot = l.Attention(use_scale=True, name="dot")([query, heads])
    added = l.AdditiveAttention(name="added")([heads, query, dot])
    product = l.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de", activation="relu", name="product")(heads)
    return k.Model([query, value], [wide, dot, added, product])


@saved_as("model.keras", "model.h5")
def own_convolutions(k, l):
    x = k.Input((8, 4), name="x")
    h = l.SeparableConv1D(6, 3, strides=2, depth_multiplier=2, padding="same", activation="relu")(x)
    h = l.Conv1D(4, 2, groups=2, padding="same")(h)
    h = l.Conv1D(4, 2, dilation_rate=2, padding="causal")(h)
    h = l.DepthwiseConv1D(2, depth_multiplier=2)(h)
    h = l.Conv1DTranspose(3, 3, strides=2, activation="hard_sigmoid", name="line")(h)
    image = l.Conv2D(6, 2, groups=3, activation="relu")(l.Reshape((4, 2, 3))(l.Dense(3)(x)))
    return k.Model(x, [h, l.Flatten(name="image")(image)])


@saved_as("model.keras")
def own_activations(k, l):
    x = k.Input((6,), name="x")
    h = l.Dense(6)(x)
    names = "hard_sigmoid hard_silu hard_tanh leaky_relu exponential celu log_sigmoid tanh_shrink squareplus".split()
    return k.Model(x, [l.Activation(name, name=name)(h) for name in names])


@saved_as("model.h5")
def keras2_convolution(k, l):
    x = k.Input((8, 8, 3), name="x")
    h = l.BatchNormalization()(l.Conv2D(3, 3, padding="same", activation="hard_sigmoid")(x))
    h = l.LeakyReLU(0.1)(l.Add()([x, h]))
    return k.Model(x, l.Dense(2, name="y")(l.GlobalAveragePooling2D()(h)))


@saved_as("model.h5")
def keras2_recurrent(k, l):
    return sequential(
        k,
        (6, 3),
        l.Bidirectional(l.GRU(4, return_sequences=True, recurrent_activation="hard_sigmoid")),
        l.TimeDistributed(l.Dense(3)),
        l.LSTM(4, recurrent_activation="hard_sigmoid", name="y"),
    )


@saved_as("model.h5")
def keras2_nested(k, l):
    return nested(k, l)


def converted(setup=None):
    """Registers a TFLite model: called with nothing, it gives the converter; `setup` changes that."""

    def register(make):
        TFLITE[make.__name__] = (make, setup)
        return make

    return register


def without_rank(content):
    model = flatbuffer_utils.read_model_from_bytearray(bytearray(content))
    for tensor in model.subgraphs[0].tensors:
        tensor.hasRank = False
    return bytes(flatbuffer_utils.convert_object_to_bytearray(model))


def with_signature_defs(content):
    """The signatures as TensorFlow Serving's tools keep them: SignatureDefs in the metadata, in a map of a FlexBuffer."""
    model = flatbuffer_utils.read_model_from_bytearray(bytearray(content))
    [signature] = model.signatureDefs
    names = {each.name.decode(): each.tensorIndex for each in [*signature.inputs, *signature.outputs]}

    def infos(**names_by_alias):
        tensors = {alias: model.subgraphs[0].tensors[names[name]] for alias, name in names_by_alias.items()}
        return {alias: meta_graph_pb2.TensorInfo(name=each.name.decode(), dtype=1) for alias, each in tensors.items()}

    definitions = {
        "serving_default": meta_graph_pb2.SignatureDef(
            inputs=infos(a="a", b="b"),
            outputs=infos(sum="sum", product="product"),
            method_name="tensorflow/serving/predict",
        ),
        "only_sum": meta_graph_pb2.SignatureDef(
            inputs=infos(left="a", right="b"), outputs=infos(outputs="sum"), method_name="tensorflow/serving/regress"
        ),
    }
    # As texts: all their bytes are ASCII.
    texts = {name: each.SerializeToString().decode("ascii") for name, each in definitions.items()}
    buffer, metadata = schema.BufferT(), schema.MetadataT()
    buffer.data = np.frombuffer(flexbuffers.Dumps(texts), "uint8")
    metadata.name, metadata.buffer = "signature_defs_metadata", len(model.buffers)
    model.buffers.append(buffer)
    model.metadata = [*(model.metadata or []), metadata]
    model.signatureDefs = None
    return bytes(flatbuffer_utils.convert_object_to_bytearray(model))


def write_tflite(name, folder):
    make, setup = TFLITE[name]
    keras.utils.set_random_seed(3)
    random = np.random.default_rng(3)
    converter, rows = make()
    if setup:
        setup(converter, random)
    content = converter.convert()
    if name == "lite_unknown_rank":
        content = without_rank(content)
    written = with_signature_defs(content) if name == "lite_signature_defs" else content
    (folder / "model.tflite").write_bytes(written)
    if rows is None:
        return None
    interpreter = tf.lite.Interpreter(model_content=content)
    runner = interpreter.get_signature_runner()
    inputs = {}
    for key, detail in runner.get_input_details().items():
        shape = [rows if size == -1 else size for size in detail["shape_signature"]]
        dtype = np.dtype(detail["dtype"])
        inputs[key] = (random.integers(0, 2, shape) if dtype.kind in "iub" else random.normal(size=shape)).astype(dtype)
    outputs = runner(**inputs)
    cases = [case("serving_default", inputs, outputs)]
    if name == "lite_signature_defs":
        cases.append(case("only_sum", {"left": inputs["a"], "right": inputs["b"]}, {"outputs": outputs["sum"]}))
    return cases


def picture_model(rows):
    l = keras.layers
    layers = [l.Conv2D(4, 3, activation="relu"), l.GlobalAveragePooling2D(), l.Dense(3, activation="softmax")]
    return keras.Sequential([keras.Input(batch_shape=(rows, 6, 6, 3), name="image"), *layers])


def from_keras(model):
    return tf.lite.TFLiteConverter.from_keras_model(model)


def from_function(function, **specs):
    module = tf.Module()
    names = list(specs)
    signature = [tf.TensorSpec(shape, dtype, name=name) for name, (shape, dtype) in specs.items()]
    module.call = tf.function(lambda *values: function(**dict(zip(names, values))), input_signature=signature)
    return tf.lite.TFLiteConverter.from_concrete_functions([module.call.get_concrete_function()], module)


def quantize(io_type):
    def setup(converter, random):
        pictures = [random.normal(size=(1, 6, 6, 3)).astype("float32") for _ in range(8)]
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([picture] for picture in pictures)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = io_type

    return setup


def halve(converter, random):
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.target_spec.supported_types = [tf.float16]


def select_ops(converter, random):
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]


@converted()
def lite_open_rows():
    return from_keras(picture_model(None)), 3


@converted(quantize(tf.int8))
def lite_int8():
    return from_keras(picture_model(1)), 1


@converted(quantize(tf.float32))
def lite_int8_within():
    return from_keras(picture_model(1)), 1


@converted(halve)
def lite_float16_weights():
    return from_keras(picture_model(1)), 1


@converted()
def lite_two_inputs():
    two_rows = {"a": ([None, 3], tf.float32), "b": ([None, 3], tf.float32)}
    return from_function(lambda a, b: {"sum": a + b, "product": a * b}, **two_rows), 2


@converted()
def lite_signature_defs():
    return lite_two_inputs()


@converted()
def lite_dtypes():
    dtypes = [tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.uint32, tf.bool, tf.float64]
    specs = {dtype.name: ([2, 3], dtype) for dtype in dtypes}
    return from_function(lambda **x: {f"{name}_out": tf.reshape(value, [3, 2]) for name, value in x.items()}, **specs), 2


@converted()
def lite_loop():
    def double(x):
        return {"y": tf.while_loop(lambda v: tf.reduce_max(v) < 100.0, lambda v: [tf.abs(v) * 2.0], [x])[0]}

    return from_function(double, x=([4], tf.float32)), 4


@converted()
def lite_counter():
    """Adds up what it is given, from one request to the next."""
    module = tf.Module()
    module.total = tf.Variable(tf.zeros([1, 3]))
    signature = [tf.TensorSpec([1, 3], tf.float32, name="x")]
    module.call = tf.function(lambda x: {"y": module.total.assign_add(x)}, input_signature=signature)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([module.call.get_concrete_function()], module)
    converter.experimental_enable_resource_variables = True
    return converter, 1


@converted()
def lite_text():
    return from_function(lambda x: {"y": tf.reshape(x, [3])}, x=([1, 3], tf.string)), None


@converted()
def lite_choice():
    return from_function(lambda x: {"y": tf.boolean_mask(x, x > 0)}, x=([4], tf.float32)), None


@converted()
def lite_open_width():
    return from_function(lambda x: {"y": x * 2.0}, x=([1, None], tf.float32)), None


@converted()
def lite_computed_shape():
    """The exporter leaves the number of rows to the model, which computes the shape of its output."""
    layers = [keras.Input((4,), name="x"), keras.layers.Dense(4), keras.layers.Reshape((2, 2))]
    return from_keras(keras.Sequential(layers)), None


@converted()
def lite_passed_on():
    return from_function(lambda x: {"same": x, "double": x * 2.0}, x=([1, 4], tf.float32)), None


@converted()
def lite_half_rows():
    return from_function(lambda x: {"y": x[::2] * 2.0}, x=([None, 4], tf.float32)), None


@converted()
def lite_more_rows():
    """Where XNNPACK computes such an output, LiteRT writes beyond the memory that it was given."""
    weights = tf.constant(np.arange(12, dtype="float32").reshape(4, 3))
    return from_function(lambda x: {"y": tf.reshape(tf.matmul(x, weights), [-1, 1])}, x=([None, 4], tf.float32)), None


@converted()
def lite_reshaped_rows():
    """As many rows as it takes, by a reshape whose size XNNPACK finds while it runs."""
    return from_function(lambda x: {"y": tf.reshape(tf.nn.relu(x), [-1, 2, 2])}, x=([None, 4], tf.float32)), 3


@converted()
def lite_one_row():
    """Takes any number of rows by its signature, and can compute one."""
    return from_function(lambda x: {"y": tf.reshape(x, [1, 2, 2]) + 1.0}, x=([None, 4], tf.float32)), 1


@converted(lambda converter, random: setattr(converter, "allow_custom_ops", True))
def lite_custom_operator():
    return from_function(lambda x: {"y": tf.raw_ops.Betainc(a=x, b=x, x=x)}, x=([1, 4], tf.float32)), None


@converted()
def lite_unknown_rank():
    """Converters of old leave `has_rank` out."""
    return lite_two_inputs()


@converted(select_ops)
def lite_select_ops():
    return from_function(lambda x: {"y": tf.linalg.det(x)}, x=([3, 3], tf.float32)), None


if __name__ == "__main__":
    writers = {**dict.fromkeys(KERAS, write_keras), **dict.fromkeys(TFLITE, write_tflite)}
    run_makers(ROOT, {name: functools.partial(write, name) for name, write in writers.items()})
