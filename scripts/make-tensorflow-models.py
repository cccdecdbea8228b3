"""Makes the TensorFlow models of the tests, and what Python TensorFlow computes with them.

    python3 -m pip install tensorflow-cpu opencv-python-headless && python3 scripts/make-tensorflow-models.py [--check] [NAME ...]

writes test/fixtures/tensorflow/NAME/ (a SavedModel, or frozen.pb) with a cases.json beside it (tensorflow_cases.py says what
that is). The files are committed, so that only whoever adds a model needs Python; --check says whether Python still gives
the committed values.
"""

import functools
import os
import struct
import tempfile
import zlib
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import numpy as np
import tensorflow as tf
from compress_index import compress_index
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_cases import case, run_makers

ROOT = Path(__file__).resolve().parent.parent / "test" / "fixtures" / "tensorflow"
MODELS = {}
SPEC = tf.TensorSpec
v1 = tf.compat.v1


def model(make):
    """Registers a maker: called with an empty folder and a random generator, it saves a model and returns its cases."""
    MODELS[make.__name__] = make
    return make


def run(folder, signature, inputs, tags=None, **rest):
    """Answers of Python TensorFlow, from the saved files alone."""
    call = tf.saved_model.load(str(folder), tags=tags).signatures[signature]
    outputs = call(**{name: tf.constant(value) for name, value in inputs.items()})
    return case(signature, inputs, {name: value.numpy() for name, value in outputs.items()}, **rest)


def save(folder, signatures, module=None):
    """Saves functions as signatures; a function alone becomes serving_default."""
    named = signatures if isinstance(signatures, dict) else {"serving_default": signatures}
    tf.saved_model.save(module or tf.Module(), str(folder), signatures=named)


def function(*specs):
    return tf.function(input_signature=[SPEC(shape, dtype, name) for name, dtype, shape in specs])


def export(folder, network, *inputs, **rest):
    """Exports a Keras model and runs it on inputs in the order that its signature has them."""
    network.export(str(folder), verbose=False)
    names = sorted(tf.saved_model.load(str(folder)).signatures["serving_default"].structured_input_signature[1])
    return [run(folder, "serving_default", dict(zip(names, inputs)), **rest)]


def strings(*texts):
    return np.array([x.encode() if isinstance(x, str) else x for x in texts], object)


def with_moving_statistics(network, random):
    """An untrained batch normalisation is an identity; this one is not."""
    for layer in network.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            gamma, beta, mean, variance = layer.get_weights()
            shift = random.normal(0, 0.3, mean.shape).astype("f")
            layer.set_weights([gamma * 1.5, beta + 0.1, shift, variance + np.abs(shift)])
    return network


# Keras 3 exports ------------------------------------------------------------------------------------------------------


@model
def keras_dense(folder, random):
    layers = keras.layers
    network = keras.Sequential(
        [keras.Input((8,)), layers.Dense(16, activation="relu"), layers.Dense(4, activation="softmax")]
    )
    return export(folder, network, random.random((3, 8), dtype="f"))


@model
def keras_convolution(folder, random):
    layers = keras.layers
    network = keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            layers.Rescaling(1 / 255.0),
            layers.Conv2D(4, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(6.0),
            layers.MaxPooling2D(2),
            layers.Conv2D(6, 3, strides=2, activation="relu"),
            layers.AveragePooling2D(2),
            layers.GlobalAveragePooling2D(),
            layers.Dense(5, activation="softmax"),
        ]
    )
    return export(folder, with_moving_statistics(network, random), random.random((2, 16, 16, 3), dtype="f") * 255)


@model
def keras_separable(folder, random):
    layers = keras.layers
    network = keras.Sequential(
        [
            keras.Input((12, 12, 3)),
            layers.ZeroPadding2D(1),
            layers.DepthwiseConv2D(3, strides=2, use_bias=False),
            layers.BatchNormalization(),
            layers.SeparableConv2D(6, 3, padding="same", activation="gelu"),
            layers.Conv2D(4, 3, dilation_rate=2, activation="swish"),
            layers.GlobalMaxPooling2D(),
        ]
    )
    return export(folder, with_moving_statistics(network, random), random.random((2, 12, 12, 3), dtype="f"))


@model
def keras_upsampling(folder, random):
    layers = keras.layers
    network = keras.Sequential(
        [
            keras.Input((5, 5, 2)),
            layers.Conv2DTranspose(3, 3, strides=2, padding="same"),
            layers.UpSampling2D(2, interpolation="bilinear"),
            layers.Cropping2D(((1, 2), (0, 3))),
            layers.LeakyReLU(0.1),
            layers.Resizing(7, 9),
        ]
    )
    return export(folder, network, random.random((2, 5, 5, 2), dtype="f"))


@model
def keras_lstm(folder, random):
    layers = keras.layers
    network = keras.Sequential(
        [keras.Input((6,), dtype="int32"), layers.Embedding(20, 4), layers.LSTM(5), layers.Dense(3)]
    )
    return export(folder, network, random.integers(0, 20, (2, 6)).astype("int32"))


@model
def keras_gru(folder, random):
    layers = keras.layers
    network = keras.Sequential(
        [keras.Input((4, 3)), layers.Bidirectional(layers.GRU(4, return_sequences=True)), layers.SimpleRNN(3)]
    )
    return export(folder, network, random.random((2, 4, 3), dtype="f"))


@model
def keras_attention(folder, random):
    layers = keras.layers
    tokens = keras.Input((5, 8))
    attended = layers.MultiHeadAttention(2, 4)(tokens, tokens, use_causal_mask=True)
    normed = layers.LayerNormalization()(layers.Add()([tokens, attended]))
    network = keras.Model(tokens, layers.Dense(8, activation="elu")(normed))
    return export(folder, network, random.random((2, 5, 8), dtype="f"))


@model
def keras_text(folder, random):
    layers = keras.layers
    words = layers.TextVectorization(output_sequence_length=5)
    words.adapt(["the quick brown fox", "jumps over the lazy dog"])
    network = keras.Sequential([keras.Input((1,), dtype="string"), words, layers.Embedding(20, 3), layers.LSTM(4)])
    network(tf.constant([["the fox"]]))
    return export(folder, network, strings("The LAZY fox!", "unknown, dog").reshape(2, 1))


@model
def keras_two_inputs(folder, random):
    layers = keras.layers
    number_, kind = keras.Input((4,), name="number"), keras.Input((1,), dtype="int32", name="kind")
    joined = layers.Concatenate()([number_, layers.Flatten()(layers.Embedding(10, 4)(kind))])
    outputs = {"p": layers.Dense(1, activation="sigmoid")(joined), "q": layers.Dense(3, activation="tanh")(joined)}
    network = keras.Model({"number": number_, "kind": kind}, outputs)
    network.export(str(folder), verbose=False)
    inputs = {"number": random.random((2, 4), dtype="f"), "kind": np.array([[3], [7]], "int32")}
    return [run(folder, "serving_default", inputs)]


@model
def keras_features(folder, random):
    layers = keras.layers
    normal = layers.Normalization(mean=[1.0, 2.0], variance=[4.0, 0.25])
    source = keras.Input((2,))
    bands = layers.Discretization(bin_boundaries=[0.0, 1.0, 2.0])(source)
    kinds = layers.CategoryEncoding(4, output_mode="multi_hot")(bands)
    network = keras.Model(source, layers.Concatenate()([normal(source), kinds]))
    return export(folder, network, np.array([[0.5, 2.5], [-1.0, 1.0]], "f"))


# Functions: control flow, tables, strings, files -----------------------------------------------------------------------


@model
def control_flow(folder, random):
    weight = tf.Variable(2.0)

    @function(("x", tf.float32, [None]), ("n", tf.int32, []))
    def loop(x, n):
        i = tf.constant(0)
        while i < n:
            x = tf.cond(tf.reduce_sum(x) > 10.0, lambda: x - 1.0, lambda: x * weight)
            i += 1
        return {"y": x, "i": i}

    module = tf.Module()
    module.weight = weight
    save(folder, loop, module)
    x = np.array([1, 2], "f")
    return [run(folder, "serving_default", {"x": x, "n": np.array(n, "int32")}) for n in (0, 5)]


@model
def switch_case(folder, random):
    @function(("x", tf.float32, [None]), ("branch", tf.int32, []))
    def switch(x, branch):
        return {"y": tf.switch_case(branch, [lambda: x + 1.0, lambda: x * 10.0, lambda: tf.zeros_like(x)])}

    save(folder, switch)
    x = np.array([1, 2], "f")
    return [run(folder, "serving_default", {"x": x, "branch": np.array(b, "int32")}) for b in (0, 1, 9)]


@model
def scan_and_map(folder, random):
    @function(("x", tf.float32, [None, 3]))
    def scan(x):
        sums = tf.scan(lambda total, row: total * 0.5 + row, x, initializer=tf.zeros([3]))
        return {"sums": sums, "norms": tf.map_fn(lambda row: tf.norm(row), x)}

    save(folder, scan)
    return [run(folder, "serving_default", {"x": random.random((4, 3), dtype="f")})]


@model
def ragged_lookup(folder, random):
    module = tf.Module()
    keys = tf.constant(["a", "b", "c"])
    module.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, tf.range(1, 4)), 0)
    module.embedding = tf.Variable(random.random((4, 2)).astype("f"))

    @function(("text", tf.string, [None]))
    def lookup(text):
        ids = tf.ragged.map_flat_values(module.table.lookup, tf.strings.split(text))
        rows = tf.ragged.map_flat_values(lambda flat: tf.gather(module.embedding, flat), ids)
        return {"mean": tf.reduce_mean(rows, axis=1), "ids": ids.to_tensor(-1)}

    save(folder, lookup, module)
    return [run(folder, "serving_default", {"text": strings("a b c", "c", "zz a")})]


@model
def table_of_asset(folder, random):
    with tempfile.TemporaryDirectory() as scratch:
        words = Path(scratch) / "words.txt"
        words.write_text("apple\nbanana\ncherry\ndürian")
        module = tf.Module()
        module.file = tf.saved_model.Asset(str(words))
        whole, line = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
        reader = tf.lookup.TextFileInitializer(module.file, tf.string, whole, tf.int64, line)
        module.table = tf.lookup.StaticHashTable(reader, -1)

        @function(("words", tf.string, [None]))
        def lookup(words):
            found = module.table.lookup(words)
            return {"id": found, "known": found >= 0}

        save(folder, lookup, module)
    return [run(folder, "serving_default", {"words": strings("banana", "dürian", "none", "")})]


@model
def table_of_values(folder, random):
    module = tf.Module()
    keys, values = tf.constant([5, 2**40, -1], tf.int64), tf.constant(["five", "big", "minus"])
    module.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), "none")

    @function(("key", tf.int64, [None]))
    def lookup(key):
        return {"word": module.table.lookup(key), "size": module.table.size()}

    save(folder, lookup, module)
    return [run(folder, "serving_default", {"key": np.array([5, 2**40, 7], "int64")})]


@model
def mutable_table(folder, random):
    module = tf.Module()
    module.table = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, -1.0)
    module.table.insert(tf.constant(["a", "b"]), tf.constant([1.0, 2.0]))

    @function(("key", tf.string, [None]))
    def lookup(key):
        return {"value": module.table.lookup(key)}

    save(folder, lookup, module)
    return [run(folder, "serving_default", {"key": strings("b", "c")})]


@model
def many_signatures(folder, random):
    module = tf.Module()
    module.weight = tf.Variable(random.random((3, 2)).astype("f"))

    @function(("x", tf.float32, [None, 3]), ("negative", tf.bool, []))
    def linear(x, negative):
        y = tf.matmul(x, module.weight)
        return {"y": tf.where(negative, -y, y)}

    @function(("n", tf.int64, [None]))
    def integers(n):
        return {"y": n * 3 + 2**40, "even": tf.equal(n % 2, 0), "largest": tf.argmax(n)}

    @function()
    def constant():
        return {"version": tf.constant(7)}

    save(folder, {"serving_default": linear, "integers": integers, "constant": constant}, module)
    x = random.random((2, 3), dtype="f")
    return [
        run(folder, "serving_default", {"x": x, "negative": np.array(True)}),
        run(folder, "serving_default", {"x": x, "negative": np.array(False)}),
        run(folder, "integers", {"n": np.array([1, 2**33, -5], "int64")}),
        run(folder, "constant", {}),
    ]


@model
def string_operations(folder, random):
    @function(("s", tf.string, [None]))
    def text(s):
        return {
            "lower": tf.strings.lower(s),
            "upper": tf.strings.upper(s),
            "joined": tf.strings.join([s, s], "-"),
            "bytes": tf.strings.length(s),
            "letters": tf.strings.length(s, "UTF8_CHAR"),
            "part": tf.strings.substr(s, 1, 2),
            "stripped": tf.strings.strip(s),
        }

    save(folder, text)
    return [run(folder, "serving_default", {"s": strings("Äbcd", "  xy ", b"\xff\x00zz")})]


@model
def string_numbers(folder, random):
    @function(("s", tf.string, [None]), ("x", tf.float32, [None]), ("i", tf.int32, [None]))
    def convert(s, x, i):
        return {
            "number": tf.strings.to_number(s),
            "fixed": tf.strings.as_string(x, precision=3),
            "digits": tf.strings.as_string(i),
            "base64": tf.io.encode_base64(s),
        }

    save(folder, convert)
    inputs = {"s": strings("1.5", "-2e3"), "x": np.array([1.25, -3], "f"), "i": np.array([7, -8], "int32")}
    return [run(folder, "serving_default", inputs)]


@model
def string_patterns(folder, random):
    @function(("s", tf.string, [None]))
    def text(s):
        return {
            "replaced": tf.strings.regex_replace(s, "[aeiou]+", "*"),
            "matches": tf.strings.regex_full_match(s, "h.*"),
            "bucket": tf.strings.to_hash_bucket_fast(s, 1000),
            "first": tf.strings.split(s, ",").to_tensor("")[:, 0],
        }

    save(folder, text)
    return [run(folder, "serving_default", {"s": strings("hello,you", "queue", "h,")})]


@model
def decode_jpeg(folder, random):
    @function(("jpeg", tf.string, [None]))
    def decode(jpeg):
        def one(picture):
            return tf.image.resize(tf.cast(tf.io.decode_jpeg(picture, channels=3), tf.float32), [4, 4])

        return {"image": tf.map_fn(one, jpeg, fn_output_signature=tf.float32)}

    save(folder, decode)
    ramp = np.linspace(0, 255, 16 * 16 * 3).reshape(16, 16, 3).astype("uint8")
    picture = tf.io.encode_jpeg(ramp).numpy()
    return [run(folder, "serving_default", {"jpeg": strings(picture, picture)})]


@model
def decode_jpegs(folder, random):
    """All samplings of the colours, in one pass and several, with restarts and without, from smooth to noise."""
    import cv2

    @function(("jpeg", tf.string, []))
    def decode(jpeg):
        return {
            "own": tf.io.decode_jpeg(jpeg),
            "grey": tf.io.decode_jpeg(jpeg, channels=1),
            "colour": tf.io.decode_image(jpeg, channels=3, expand_animations=False),
        }

    save(folder, decode)
    cases = []
    for sampling in (0x411111, 0x221111, 0x211111, 0x121111, 0x111111, None):
        for height, width in ((1, 1), (3, 5), (9, 21), (18, 17)):
            rows, columns = np.mgrid[0:height, 0:width]
            wave = 128 + 100 * np.sin(rows / 5) + 20 * np.cos(columns)
            colours = 1 if sampling is None else 3
            noise = random.normal(0, random.choice([4, 80]), (height, width, colours))
            how = {
                cv2.IMWRITE_JPEG_QUALITY: int(random.choice([1, 10, 60, 95])),
                cv2.IMWRITE_JPEG_PROGRESSIVE: int(random.integers(2)),
                cv2.IMWRITE_JPEG_RST_INTERVAL: int(random.integers(4)),
                **({cv2.IMWRITE_JPEG_SAMPLING_FACTOR: sampling} if sampling else {}),
            }
            pixels = np.clip(wave[..., np.newaxis] + noise, 0, 255).astype("uint8")
            picture = cv2.imencode(".jpg", pixels, [part for item in how.items() for part in item])[1].tobytes()
            cases.append(run(folder, "serving_default", {"jpeg": np.array(picture, object)}))
    return cases


@model
def decode_png(folder, random):
    @function(("png", tf.string, []))
    def decode(png):
        return {"image": tf.io.decode_png(png, channels=3)}

    save(folder, decode)
    picture = tf.io.encode_png(random.integers(0, 255, (5, 7, 3)).astype("uint8")).numpy()
    return [run(folder, "serving_default", {"png": np.array(picture, object)})]


@model
def decode_pngs(folder, random):
    """All depths and colours, interlaced and not, with a transparent colour and without, of random rows and filters."""

    @function(("png", tf.string, []))
    def decode(png):
        forms = {"own": (0, tf.uint8), "grey": (1, tf.uint8), "colour": (3, tf.uint8), "alpha": (4, tf.uint8)}
        deep = {"deep": (0, tf.uint16), "deep_grey": (1, tf.uint16)}
        return {name: tf.io.decode_png(png, *form) for name, form in {**forms, **deep}.items()}

    save(folder, decode)
    depths = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
    kinds = [(colour, depth) for colour, each in depths.items() for depth in each]
    pictures = [png(random, *kind, transparent) for kind in kinds for transparent in (False, True)]
    return [run(folder, "serving_default", {"png": np.array(picture, object)}) for picture in pictures]


def png(random, colour, depth, transparent):
    width, height = random.integers(1, 10, 2).tolist()
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    interlaced = int(random.integers(2))
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def octets(count, limit=256):
        return random.integers(0, limit, count, dtype="uint8").tobytes()

    rows = b""
    for x, y, across, down in passes if interlaced else [(0, 0, 1, 1)]:
        columns, lines = -((x - width) // across), -((y - height) // down)
        if columns > 0 and lines > 0:
            row_bytes = -(-columns * channels * depth // 8)
            rows += b"".join(octets(1, 5) + octets(row_bytes, 3 if colour == 2 else 256) for _ in range(lines))
    tables = chunk(b"PLTE", octets(3 * 2**depth)) if colour == 3 else b""
    if transparent and colour in (0, 2, 3):
        key = octets(2**depth - 1) if colour == 3 else struct.pack(">H", 1) * channels
        tables += chunk(b"tRNS", key)
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    parts = [chunk(b"IHDR", header), tables, chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@model
def parse_example(folder, random):
    features = {
        "a": tf.io.FixedLenFeature([2], tf.float32),
        "b": tf.io.FixedLenFeature([1], tf.string, default_value="none"),
        "c": tf.io.VarLenFeature(tf.int64),
    }

    @function(("examples", tf.string, [None]))
    def parse(examples):
        parsed = tf.io.parse_example(examples, features)
        return {"a": parsed["a"], "b": parsed["b"], "c": tf.sparse.to_dense(parsed["c"], -1)}

    save(folder, parse)

    def example(**lists):
        return tf.train.Example(features=tf.train.Features(feature=lists)).SerializeToString(deterministic=True)

    floats = tf.train.Feature(float_list=tf.train.FloatList(value=[1, 2.5]))
    words = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"hi"]))
    counts = tf.train.Feature(int64_list=tf.train.Int64List(value=[4, 5, 6]))
    examples = strings(example(a=floats, b=words), example(a=floats, c=counts))
    return [run(folder, "serving_default", {"examples": examples})]


# Mathematics ------------------------------------------------------------------------------------------------------------


@model
def matrices(folder, random):
    @function(("a", tf.float32, [None, 2, 3]), ("b", tf.float32, [None, 3, 4]))
    def multiply(a, b):
        return {
            "product": tf.matmul(a, b),
            "einsum": tf.einsum("nij,njk->nk", a, b),
            "transposed": tf.transpose(a, [2, 0, 1]),
            "cumulative": tf.cumsum(a, axis=2, exclusive=True, reverse=True),
        }

    save(folder, multiply)
    return [run(folder, "serving_default", {"a": random.random((2, 2, 3), "f"), "b": random.random((2, 3, 4), "f")})]


@model
def linear_algebra(folder, random):
    @function(("a", tf.float32, [3, 3]))
    def solve(a):
        symmetric = tf.matmul(a, a, transpose_b=True) + tf.eye(3)
        return {"inverse": tf.linalg.inv(symmetric), "factor": tf.linalg.cholesky(symmetric), "det": tf.linalg.det(a)}

    save(folder, solve)
    return [run(folder, "serving_default", {"a": random.random((3, 3), "f")})]


@model
def sorting(folder, random):
    @function(("x", tf.float32, [None]))
    def order(x):
        best = tf.math.top_k(x, 3)
        kinds, index, count = tf.unique_with_counts(x)
        return {"values": best.values, "places": best.indices, "kinds": kinds, "index": index, "count": count}

    save(folder, order)
    return [run(folder, "serving_default", {"x": np.array([3, 1, 3, 2, 1, 5], "f")})]


@model
def indexing(folder, random):
    @function(("x", tf.float32, [None, 4]), ("i", tf.int32, [None]))
    def pick(x, i):
        return {
            "rows": tf.gather(x, i),
            "strided": x[1:, ::-2, tf.newaxis],
            "points": tf.gather_nd(x, tf.stack([i, i], 1)),
            "scattered": tf.scatter_nd(i[:, tf.newaxis], tf.ones_like(i), [6]),
            "hot": tf.one_hot(i, 4, on_value=2.0, off_value=-1.0),
            "padded": tf.pad(x, [[1, 0], [0, 2]], constant_values=9.0),
            "mirrored": tf.pad(x, [[1, 1], [1, 1]], "REFLECT"),
            "tiled": tf.tile(x, [2, 1]),
        }

    save(folder, pick)
    return [run(folder, "serving_default", {"x": random.random((3, 4), "f"), "i": np.array([2, 0], "int32")})]


@model
def segments(folder, random):
    @function(("x", tf.float32, [None]), ("group", tf.int32, [None]))
    def sums(x, group):
        return {
            "sum": tf.math.unsorted_segment_sum(x, group, 3),
            "mean": tf.math.segment_mean(x, group),
            "counts": tf.math.bincount(group, minlength=4),
        }

    save(folder, sums)
    return [run(folder, "serving_default", {"x": random.random(5).astype("f"), "group": np.array([0, 0, 1, 2, 2], "int32")})]


@model
def sparse(folder, random):
    @function(("places", tf.int64, [None, 2]), ("values", tf.float32, [None]))
    def dense(places, values):
        matrix = tf.sparse.SparseTensor(places, values, [3, 4])
        return {"dense": tf.sparse.to_dense(matrix), "product": tf.sparse.sparse_dense_matmul(matrix, tf.ones([4, 2]))}

    save(folder, dense)
    inputs = {"places": np.array([[0, 1], [2, 3]], "int64"), "values": np.array([1.5, -2], "f")}
    return [run(folder, "serving_default", inputs)]


@model
def boxes(folder, random):
    @function(("boxes", tf.float32, [None, 4]), ("scores", tf.float32, [None]), ("image", tf.float32, [1, None, None, 3]))
    def select(boxes, scores, image):
        kept = tf.image.non_max_suppression(boxes, scores, 3, 0.5, 0.1)
        crops = tf.image.crop_and_resize(image, boxes, tf.zeros_like(scores, tf.int32), [3, 3])
        return {"kept": kept, "crops": crops}

    save(folder, select)
    places = np.array([[0, 0, 0.5, 0.5], [0, 0, 0.55, 0.5], [0.4, 0.4, 1, 1], [0, 0.5, 0.5, 1]], "f")
    scores = np.array([0.9, 0.8, 0.7, 0.05], "f")
    image = random.random((1, 8, 8, 3), "f")
    return [run(folder, "serving_default", {"boxes": places, "scores": scores, "image": image})]


@model
def resizing(folder, random):
    @function(("image", tf.float32, [None, None, None, 2]))
    def resize(image):
        return {
            "bilinear": tf.image.resize(image, [5, 7]),
            "nearest": tf.image.resize(image, [5, 7], "nearest"),
            "corners": v1.image.resize_bilinear(image, [5, 7], align_corners=True),
            "legacy": v1.image.resize_nearest_neighbor(image, [5, 7]),
        }

    save(folder, resize)
    return [run(folder, "serving_default", {"image": random.random((1, 3, 4, 2), "f")})]


@model
def channels_first(folder, random):
    weight = tf.constant(random.random((3, 3, 2, 4)).astype("f"))

    @function(("image", tf.float32, [None, 2, 6, 6]))
    def convolve(image):
        first = tf.transpose(image, [0, 2, 3, 1])
        y = tf.nn.conv2d(first, weight, 1, [[0, 0], [2, 0], [1, 1], [0, 0]])
        return {"y": tf.transpose(y, [0, 3, 1, 2]), "z": tf.nn.depth_to_space(first[..., :1] * tf.ones([4]), 2)}

    save(folder, convolve)
    return [run(folder, "serving_default", {"image": random.random((1, 2, 6, 6), "f")})]


@model
def padded_depthwise(folder, random):
    """Fused with what follows, it would end TensorFlow 2.21's process."""
    weight, bias = tf.constant(random.random((3, 3, 2, 2)).astype("f")), tf.constant([0.5, -1, 2, -3])

    @function(("image", tf.float32, [None, None, None, 2]))
    def convolve(image):
        paddings = [0, 0, 1, 1, 2, 1, 0, 0]
        y = tf.raw_ops.DepthwiseConv2dNative(
            input=image, filter=weight, strides=[1] * 4, padding="EXPLICIT", explicit_paddings=paddings
        )
        return {"y": tf.nn.relu(tf.nn.bias_add(y, bias))}

    save(folder, convolve)
    image = {"image": random.random((2, 5, 5, 2), "f")}
    tf.config.optimizer.set_experimental_options({"remapping": False})
    try:
        return [run(folder, "serving_default", image)]
    finally:
        tf.config.optimizer.set_experimental_options({"remapping": True})


@model
def spectrum(folder, random):
    @function(("x", tf.float32, [None, 8]))
    def transform(x):
        return {"magnitude": tf.abs(tf.signal.rfft(x)), "back": tf.signal.irfft(tf.signal.rfft(x))}

    save(folder, transform)
    return [run(folder, "serving_default", {"x": random.random((2, 8), "f")})]


@model
def integer_arithmetic(folder, random):
    @function(("a", tf.int32, [None]), ("b", tf.int32, [None]))
    def arithmetic(a, b):
        return {
            "quotient": a // b,
            "remainder": a % b,
            "truncated": tf.truncatediv(a, b),
            "truncated_rest": tf.truncatemod(a, b),
            "product": a * b,
            "bits": tf.bitwise.bitwise_xor(a, b),
            "shifted": tf.bitwise.left_shift(tf.abs(b), tf.constant(2)),
        }

    save(folder, arithmetic)
    inputs = {"a": np.array([7, -7, 100000, 2**31 - 1], "int32"), "b": np.array([2, 2, 100000, -3], "int32")}
    return [run(folder, "serving_default", inputs)]


@model
def rounding(folder, random):
    @function(("x", tf.float32, [None]))
    def round_(x):
        finite = tf.clip_by_value(x, -100.0, 100.0)
        return {
            "even": tf.round(x),
            "floor": tf.floor(x),
            "to_int": tf.cast(finite, tf.int32),
            "to_bool": tf.cast(x, tf.bool),
            "sign": tf.sign(x),
            "nan": tf.math.is_nan(x),
            "relu": tf.nn.relu(x),
            "maximum": tf.maximum(x, 0.5),
        }

    save(folder, round_)
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, np.inf, -np.inf, 0.0], "f")
    return [run(folder, "serving_default", {"x": x})]


@model
def random_numbers(folder, random):
    @function(("seed", tf.int32, [2]))
    def draw(seed):
        return {"uniform": tf.random.stateless_uniform([4], seed), "normal": tf.random.stateless_normal([4], seed)}

    save(folder, draw)
    return [run(folder, "serving_default", {"seed": np.array([3, 4], "int32")})]


@model
def shapes(folder, random):
    @function(("scalar", tf.float32, []), ("rows", tf.float32, [None, 3]), ("any", tf.float32, None))
    def shape(scalar, rows, any):
        return {
            "scalar": scalar * 2.0,
            "rows": rows + scalar,
            "shape": tf.shape(any),
            "rank": tf.rank(any),
            "flat": tf.reshape(any, [-1]),
            "total": tf.reduce_sum(any),
        }

    save(folder, shape)

    def inputs(rows, any_shape):
        return {"scalar": np.array(3, "f"), "rows": random.random((rows, 3), "f"), "any": random.random(any_shape, "f")}

    return [run(folder, "serving_default", inputs(*sizes)) for sizes in [(2, (2, 1, 2)), (0, (0, 4)), (1, ())]]


# dtypes -------------------------------------------------------------------------------------------------------------------


def dtype_model(name, dtype, make, *inputs):
    def maker(folder, random):
        @function(("x", dtype, [None]))
        def compute(x):
            return make(x)

        save(folder, compute)
        array = np.array(inputs, object if dtype == tf.string else dtype.as_numpy_dtype)
        return [run(folder, "serving_default", {"x": array})]

    MODELS[name] = maker


dtype_model("dtype_bool", tf.bool, lambda x: {"not": tf.logical_not(x), "any": tf.reduce_any(x)}, True, False)
dtype_model("dtype_uint8", tf.uint8, lambda x: {"same": x, "wrapped": x + tf.constant(200, tf.uint8)}, 0, 100, 255)
dtype_model("dtype_int8", tf.int8, lambda x: {"same": x, "negative": -x}, -128, 0, 127)
dtype_model("dtype_uint16", tf.uint16, lambda x: {"same": x, "float": tf.cast(x, tf.float32)}, 0, 65535)
dtype_model("dtype_int16", tf.int16, lambda x: {"same": x, "float": tf.cast(x, tf.float32)}, -32768, 32767)
dtype_model("dtype_uint32", tf.uint32, lambda x: {"same": x, "sum": x + tf.constant(1, tf.uint32)}, 0, 2**32 - 1)
dtype_model("dtype_int64", tf.int64, lambda x: {"same": x, "sum": x + 1}, -(2**63), 2**53 + 1, 2**62)
dtype_model("dtype_uint64", tf.uint64, lambda x: {"same": x, "sum": x + tf.constant(1, tf.uint64)}, 0, 2**63 + 1)
dtype_model("dtype_half", tf.float16, lambda x: {"same": x, "third": x / 3}, 1.0, 65504.0, 6e-8, float("inf"))
dtype_model("dtype_bfloat16", tf.bfloat16, lambda x: {"same": x, "third": x / 3}, 1.0, 3e38, -2.5)
dtype_model("dtype_float64", tf.float64, lambda x: {"same": x, "third": x / 3}, 1e300, 1 / 3, -0.0, float("nan"))
dtype_model("dtype_complex64", tf.complex64, lambda x: {"square": x * x, "size": tf.abs(x)}, 1 + 2j, -3j)
dtype_model("dtype_complex128", tf.complex128, lambda x: {"square": x * x, "real": tf.math.real(x)}, 1 + 2j, 1e-200j)
dtype_model("dtype_string", tf.string, lambda x: {"same": x}, b"", b"\x00\xff", "ü".encode())


# State, TensorFlow 1, frozen graphs, failures -------------------------------------------------------------------------------


@model
def counter(folder, random):
    module = tf.Module()
    module.total = tf.Variable(3.0)

    @function(("x", tf.float32, [None]))
    def add(x):
        module.total.assign_add(tf.reduce_sum(x))
        return {"total": module.total.read_value()}

    save(folder, add, module)
    return [run(folder, "serving_default", {"x": np.array([1, 2], "f")})]


def message(**fields):
    """A protobuf message whose fields _1, _2, ... are bytes or texts, each shorter than 128 bytes."""
    content = b""
    for name, value in fields.items():
        value = value.encode() if isinstance(value, str) else value
        content += bytes([int(name[1:]) << 3 | 2, len(value)]) + value
    return content


@model
def counter_with_requests(folder, random):
    """
    Brings the requests along that a server runs before others: two of Predict, and an empty one in between. Beside them
    are the same recorded with one of SessionRun, which no server runs before others.
    """
    cases = counter(folder, random)

    def prediction_log(value):
        entry = message(_1="x", _2=tf.make_tensor_proto([value], tf.float32).SerializeToString())
        return message(_6=message(_1=message(_1=message(_1="counter"), _2=entry)))

    extra = folder / "assets.extra"
    extra.mkdir()
    for name, middle in (("assets.extra/tf_serving_warmup_requests", b""), ("recorded_requests", message(_5=b""))):
        with tf.io.TFRecordWriter(str(folder / name)) as writer:
            for record in (prediction_log(10), middle, prediction_log(20)):
                writer.write(record)
    return cases


@model
def counter_by_control_edge(folder, random):
    module = tf.Module()
    module.calls = tf.Variable(0)

    @function(("x", tf.float32, [None]))
    def count(x):
        with tf.control_dependencies([module.calls.assign_add(1)]):
            return {"y": tf.identity(x) * 2.0}

    save(folder, count, module)
    return [run(folder, "serving_default", {"x": np.array([1, 2], "f")})]


@model
def assertion(folder, random):
    @function(("x", tf.float32, [None]))
    def positive(x):
        with tf.control_dependencies([tf.debugging.assert_positive(x, message="every x must be positive")]):
            return {"y": tf.sqrt(x)}

    save(folder, positive)
    return [run(folder, "serving_default", {"x": np.array([1, 4], "f")})]


@model
def endless(folder, random):
    @function(("x", tf.float32, []))
    def spin(x):
        while x < 1e9:
            x = x * 1.0
        return {"x": x}

    save(folder, spin)
    return [run(folder, "serving_default", {"x": np.array(2e9, "f")})]


@model
def defaults(folder, random):
    with tf.Graph().as_default(), v1.Session() as session:
        x, scale = v1.placeholder(tf.float32, [None], "x"), v1.placeholder(tf.float32, [], "scale")
        y = tf.multiply(x, scale, name="y")
        info = v1.saved_model.build_tensor_info
        signature = v1.saved_model.build_signature_def(
            {"x": info(x), "scale": info(scale)}, {"y": info(y)}, "tensorflow/serving/predict"
        )
        signature.defaults["scale"].CopyFrom(tf.make_tensor_proto(2.5))
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.save()
    given = np.array([1, 2], "f")
    return [case("serving_default", {"x": given}, {"y": given * np.float32(2.5)})]


@model
def tensorflow_1(folder, random):
    with tempfile.TemporaryDirectory() as scratch, tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(7)
        words = Path(scratch) / "words.txt"
        words.write_text("x\ny\nz\n")
        x, text = v1.placeholder(tf.float32, [None, 2], "x"), v1.placeholder(tf.string, [None], "s")
        weight = v1.get_variable("weight", [2, 3], use_resource=False)
        bias = v1.get_variable("bias", [3], initializer=tf.ones_initializer(), use_resource=True)
        y = tf.add(tf.matmul(x, weight), bias, name="y")
        reader = tf.lookup.TextFileInitializer(str(words), tf.string, -2, tf.int64, -1)
        found = tf.lookup.StaticVocabularyTable(reader, 2).lookup(text)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        info, build = v1.saved_model.build_tensor_info, v1.saved_model.build_signature_def
        method = "tensorflow/serving/predict"
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(
            session,
            ["serve", "cpu"],
            {
                "serving_default": build({"x": info(x)}, {"y": info(y)}, method),
                "lookup": build({"s": info(text)}, {"id": info(found)}, method),
            },
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            main_op=v1.tables_initializer(),
            strip_default_attrs=True,
        )
        builder.save()
        a, q = np.array([[1, 2], [3, 4]], "f"), strings("y", "z", "none")
        return [
            case("serving_default", {"x": a}, {"y": session.run(y, {x: a})}, tags=["serve", "cpu"]),
            case("lookup", {"s": q}, {"id": session.run(found, {text: q})}, tags=["serve", "cpu"]),
        ]


def half_plus(addend, scratch):
    """The graph of x / 2 + addend for numbers or examples, and what assigns an asset's path to a variable: examples, x, y, operation."""
    asset = Path(scratch) / "foo.txt"
    asset.write_text("asset-file-contents")
    a, b = (v1.get_variable(name, initializer=value, use_resource=False) for name, value in (("a", 0.5), ("b", addend)))
    examples = v1.placeholder(tf.string, [None], "tf_example")
    x = tf.identity(v1.parse_example(examples, {"x": v1.FixedLenFeature([1], tf.float32)})["x"], name="x")
    y = tf.identity(tf.add(tf.multiply(a, x), b), name="y")
    path = tf.constant(str(asset))
    v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, path)
    file = v1.get_variable("file", initializer="", use_resource=False, trainable=False, collections=[])
    return examples, x, y, tf.group(v1.assign(file, path), name="init_all")


def without_shape(value, **fields):
    info = v1.saved_model.build_tensor_info(value)
    info.ClearField("tensor_shape")
    for name, field in fields.items():
        setattr(info, name, field)
    return info


@model
def half_plus_two(folder, random):
    """As TensorFlow Serving's tutorial has it: a shape that requests do not keep to, an asset in a variable, a compressed index."""
    with tempfile.TemporaryDirectory() as scratch, tf.Graph().as_default(), v1.Session() as session:
        _, x, y, main_op = half_plus(2.0, scratch)
        session.run(v1.global_variables_initializer())
        info, build = v1.saved_model.build_tensor_info, v1.saved_model.build_signature_def
        method = "tensorflow/serving/predict"
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {
                "serving_default": build({"x": info(x)}, {"y": info(y)}, method),
                "any_shape": build({"x": without_shape(x)}, {"y": info(y)}, method),
            },
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            main_op=main_op,
        )
        builder.save()
        values = np.array([[1], [2], [5]], "f")
        answer = session.run(y, {x: values})
    compress_index(folder / "variables" / "variables.index")
    return [case(signature, {"x": values}, {"y": answer}) for signature in ("serving_default", "any_shape")]


@model
def half_plus_three(folder, random):
    """As TensorFlow Serving's tests have it, saved by TensorFlow 1.0: no shapes, numbers declared for examples, collections for what is initialised and for the asset."""
    with tempfile.TemporaryDirectory() as scratch, tf.Graph().as_default(), v1.Session() as session:
        examples, x, y, init_op = half_plus(3.0, scratch)
        session.run(v1.global_variables_initializer())
        v1.add_to_collection("legacy_init_op", init_op)
        build, regress = v1.saved_model.build_signature_def, "tensorflow/serving/regress"
        declared = without_shape(examples, dtype=tf.float32.as_datatype_enum)
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {
                "serving_default": build({"x": without_shape(x)}, {"y": without_shape(y)}, "tensorflow/serving/predict"),
                regress: build({"inputs": declared}, {"outputs": without_shape(y)}, regress),
            },
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
        )
        builder.save()
        values = np.array([[1], [2], [5]], "f")
        answer = session.run(y, {x: values})
    collect_assets(folder / "saved_model.pb")
    return [case("serving_default", {"x": values}, {"y": answer})]


def collect_assets(file):
    """Names the assets in a collection alone, as the first SavedModels did."""
    saved = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    (graph,) = saved.meta_graphs
    collected = graph.collection_def["saved_model_assets"].any_list.value
    del collected[:]
    for asset in graph.asset_file_def:
        collected.add().Pack(asset)
    graph.ClearField("asset_file_def")
    file.write_bytes(saved.SerializeToString(deterministic=True))


@model
def partitioned_variable(folder, random):
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(7)
        split = v1.fixed_size_partitioner(2)
        weight = v1.get_variable("weight", [4, 2], partitioner=split, use_resource=True)
        long = v1.get_variable("long", [9000, 1], partitioner=split, use_resource=False)
        x, row = v1.placeholder(tf.float32, [None, 4], "x"), v1.placeholder(tf.int32, [None], "row")
        y = tf.matmul(x, tf.convert_to_tensor(weight), name="y")
        picked = tf.gather(tf.convert_to_tensor(long), row)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(folder), {"x": x, "row": row}, {"y": y, "picked": picked})
        given = {"x": random.random((2, 4), "f"), "row": np.array([0, 4499, 4500, 8999], "int32")}
        results = session.run({"y": y, "picked": picked}, {x: given["x"], row: given["row"]})
        return [case("serving_default", given, results)]


def freeze(folder, compute):
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    frozen = convert_variables_to_constants_v2(compute.get_concrete_function())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "frozen.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
    return frozen


@model
def frozen_graph(folder, random):
    weight = tf.Variable(random.random((3, 2)).astype("f"))

    @function(("x", tf.float32, [None, 3]))
    def linear(x):
        y = tf.matmul(x, weight)
        return tf.identity(tf.nn.relu(y), name="relu"), tf.identity(tf.argmax(y, 1), name="best")

    frozen = freeze(folder, linear)
    x = random.random((2, 3), "f")
    values = [value.numpy() for value in frozen(tf.constant(x))]
    names = [output.name.split(":")[0] for output in frozen.outputs]
    options = {"inputs": frozen.inputs[0].name, "outputs": ",".join(names)}
    return [case("serving_default", {frozen.inputs[0].name: x}, dict(zip(names, values)), options=options)]


@model
def windows(folder, random):
    """Windows of three elements a side over inputs of any size, where smaller ones end TensorFlow 2.21's process."""
    module, raw = tf.Module(), tf.raw_ops
    module.flat, module.deep, module.solid = (
        tf.Variable(tf.ones(shape)) for shape in [(3, 3, 2, 2), (3, 3, 2, 1), (3, 3, 3, 2, 2)]
    )

    def signature(axes, compute):
        rest = {"strides": [1] * (axes + 2), "padding": "VALID"}
        return function(("x", tf.float32, [None] * (axes + 1) + [2]))(lambda x: {"y": compute(tf.nn.relu(x), rest)})

    signatures = {
        "max_pool": signature(2, lambda x, rest: raw.MaxPool(input=x, ksize=[1, 3, 3, 1], **rest)),
        "max_pool_3d": signature(3, lambda x, rest: raw.MaxPool3D(input=x, ksize=[1, 3, 3, 3, 1], **rest)),
        "conv": signature(2, lambda x, rest: raw.Conv2D(input=x, filter=module.flat, **rest)),
        "depthwise": signature(2, lambda x, rest: raw.DepthwiseConv2dNative(input=x, filter=module.deep, **rest)),
        "conv_3d": signature(3, lambda x, rest: raw.Conv3D(input=x, filter=module.solid, **rest)),
    }
    save(folder, signatures, module)
    return []


@model
def unknown_operation(folder, random):
    graph = v1.GraphDef()
    source = graph.node.add(name="x", op="Placeholder")
    source.attr["dtype"].type = tf.float32.as_datatype_enum
    graph.node.add(name="y", op="NobodyKnowsThis", input=["x"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "frozen.pb").write_bytes(graph.SerializeToString())
    return []


def make(maker, folder):
    keras.utils.set_random_seed(7)
    keras.backend.clear_session()
    cases = maker(folder, np.random.default_rng(7))
    for unread in (folder / "fingerprint.pb", folder / "variables" / "variables.data-00000-of-00001.tempstate"):
        unread.unlink(missing_ok=True)
    return cases


if __name__ == "__main__":
    run_makers(ROOT, {name: functools.partial(make, maker) for name, maker in MODELS.items()})
