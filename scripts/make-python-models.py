"""Makes toy models of a library that runs in Python, with its own answers: make-python-models.py FOLDER LIBRARY.

cases.json is a list of cases: a file or folder, inputs and outputs by name, each as dtype, shape and nested lists.
"""

import json
import os
import sys

import numpy as np

ROWS = np.array([[0.1, 2.0, 3.0], [3.0, 0.2, 1.0]], np.float32)


def plain(value):
    array = np.asarray(value)
    return {"dtype": array.dtype.name if array.dtype.kind not in "UO" else "bytes", "shape": list(array.shape), "values": array.tolist()}


def case(file, inputs, outputs):
    tensors = [{name: plain(value) for name, value in each.items()} for each in (inputs, outputs)]
    return {"file": file, "inputs": tensors[0], "outputs": tensors[1]}


def h2o_models(folder):
    import h2o
    import pandas
    from h2o.estimators import H2OGradientBoostingEstimator, H2OIsolationForestEstimator, H2OKMeansEstimator

    h2o.init(max_mem_size="1g", nthreads=1, bind_to_localhost=True, name="kserving-test", verbose=False)
    h2o.no_progress()
    random = np.random.RandomState(0)
    table = pandas.DataFrame({"size": random.rand(60) * 3, "kind": np.array(["flat", "round"])[random.randint(0, 2, 60)]})
    table["label"] = np.where((table["size"] > 1.5) == (table["kind"] == "round"), "yes", "no")
    frame = h2o.H2OFrame(table, column_types={"kind": "enum", "label": "enum"})
    few = frame[:4, :]
    inputs = {"size": table["size"][:4].to_numpy(), "kind": table["kind"][:4].to_numpy()}

    def train(file, estimator, names, target=None):
        estimator.train(names, target, frame)
        estimator.download_mojo(os.path.join(folder, file))
        return estimator.predict(few).as_data_frame()

    classes = train("classes.zip", H2OGradientBoostingEstimator(ntrees=3, max_depth=2, seed=1), ["size", "kind"], "label")
    number = train("number.zip", H2OGradientBoostingEstimator(ntrees=3, max_depth=2, seed=1), ["kind"], "size")
    groups = train("groups.zip", H2OKMeansEstimator(k=2, seed=1), ["size", "kind"])
    odd = train("odd.zip", H2OIsolationForestEstimator(ntrees=3, seed=1), ["size"])
    h2o.cluster().shutdown()
    return [
        case("classes.zip", inputs, {"predict": classes["predict"], "predict_proba": classes[["no", "yes"]]}),
        case("number.zip", {"kind": inputs["kind"]}, {"predict": number["predict"]}),
        case("groups.zip", inputs, {"predict": groups["predict"]}),
        case("odd.zip", {"size": inputs["size"]}, {name: odd[name].astype(float) for name in odd}),
    ]


def paddle_models(folder):
    import paddle

    paddle.seed(0)
    net = paddle.nn.Sequential(paddle.nn.Linear(3, 2), paddle.nn.Softmax())
    net.eval()
    spec = [paddle.static.InputSpec([None, 3], "float32", "features")]
    paddle.jit.save(net, os.path.join(folder, "net/model"), input_spec=spec)
    with paddle.pir_utils.OldIrGuard():
        paddle.jit.save(paddle.jit.to_static(net, input_spec=spec), os.path.join(folder, "old/model"))
    answer = net(paddle.to_tensor(ROWS)).numpy()
    return [case("net", {"features": ROWS}, {"fetch_name_0": answer}), case("old", {"features": ROWS}, {"old": answer})]


def mxnet_models(folder):
    for name, kind in (("bool", bool), ("object", object), ("int", int), ("float", float)):
        setattr(np, name, kind)
    import mxnet

    data = mxnet.sym.Variable("data")
    layer = mxnet.sym.FullyConnected(data, num_hidden=2, name="layer")
    symbol = mxnet.sym.SoftmaxOutput(layer, name="softmax")
    weights = {"layer_weight": mxnet.nd.array([[1, 0.5, -1], [0, 1, 0]]), "layer_bias": mxnet.nd.array([0, 1])}
    mxnet.model.save_checkpoint(os.path.join(folder, "net"), 3, symbol, weights, {})
    scores = ROWS @ weights["layer_weight"].asnumpy().T + weights["layer_bias"].asnumpy()
    powers = np.exp(scores - scores.max(1, keepdims=True))
    answer = powers / powers.sum(1, keepdims=True)
    return [case(file, {"data": ROWS}, {"softmax_output": answer}) for file in ("net-symbol.json", ".")]


def texts(*values):
    return np.array(values, object)


def transformers_models(folder):
    import torch
    import transformers

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "day", "very"]
    sizes = {"vocab_size": len(words), "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 16}

    def save(name, kind, **options):
        path = os.path.join(folder, name)
        os.makedirs(path)
        with open(os.path.join(path, "vocab.txt"), "w") as file:
            file.write("\n".join(words))
        transformers.BertTokenizerFast(os.path.join(path, "vocab.txt")).save_pretrained(path)
        torch.manual_seed(0)
        getattr(transformers, kind)(transformers.BertConfig(**sizes, **options)).save_pretrained(path)
        return path

    labels = {0: "no", 1: "maybe", 2: "yes"}
    numbers = {label: number for number, label in labels.items()}
    inputs = texts("very good day", "bad")
    classify = transformers.pipeline("text-classification", save("classes", "BertForSequenceClassification", id2label=labels, label2id=numbers))
    found = [classify(each, top_k=None) for each in inputs]
    classes = {"label": texts(*[[each["label"] for each in row] for row in found]), "score": [[each["score"] for each in row] for row in found], "count": [3, 3]}
    embed = transformers.pipeline("feature-extraction", save("features", "BertModel"))
    features = np.zeros((2, 5, 8), np.float32)
    for index, text in enumerate(inputs):
        tokens = embed(text)[0]
        features[index, : len(tokens)] = tokens
    answer = transformers.pipeline("question-answering", save("answers", "BertForQuestionAnswering"))
    said = answer(question="good day", context="very bad very good day")
    asked = {"question": texts("good day"), "context": texts("very bad very good day")}
    answers = {name: np.array([said[name]], object if name == "answer" else None) for name in said}
    return [
        case("classes", {"text": inputs}, {**classes, "score": np.array(classes["score"], np.float32)}),
        case("features", {"text": inputs}, {"features": features}),
        case("answers", asked, {**answers, "score": answers["score"].astype(np.float32)}),
    ]


def spacy_models(folder):
    import spacy
    from spacy.training import Example

    spacy.util.fix_random_seed(0)
    pipeline = spacy.blank("en")
    pipeline.add_pipe("ner")
    pipeline.add_pipe("textcat")
    train = [
        ("Anna lives in Paris.", {"entities": [(0, 4, "PERSON"), (14, 19, "PLACE")], "cats": {"good": 1.0, "bad": 0.0}}),
        ("It rains.", {"entities": [], "cats": {"good": 0.0, "bad": 1.0}}),
    ]
    examples = [Example.from_dict(pipeline.make_doc(text), facts) for text, facts in train]
    optimizer = pipeline.initialize(lambda: examples)
    for _ in range(20):
        pipeline.update(examples, sgd=optimizer)
    pipeline.to_disk(os.path.join(folder, "pipeline"))
    docs = [pipeline(text) for text, _ in train]
    outputs = {
        "tokens": texts(["Anna", "lives", "in", "Paris", "."], ["It", "rains", ".", "", ""]),
        "token_count": [5, 3],
        "entities": texts(["Anna", "Paris"], ["", ""]),
        "entity_labels": texts(["PERSON", "PLACE"], ["", ""]),
        "entity_starts": [[0, 14], [0, 0]],
        "entity_ends": [[4, 19], [0, 0]],
        "entity_count": [2, 0],
        "category": texts("good", "bad"),
        "scores": np.array([[doc.cats["good"], doc.cats["bad"]] for doc in docs], np.float32),
    }
    return [case("pipeline", {"text": texts(*[text for text, _ in train])}, outputs)]


LIBRARIES = {"h2o": h2o_models, "paddle": paddle_models, "mxnet": mxnet_models, "transformers": transformers_models, "spacy": spacy_models}


def main(folder, library):
    os.makedirs(folder, exist_ok=True)
    cases = LIBRARIES[library](folder)
    with open(os.path.join(folder, "cases.json"), "w") as file:
        json.dump(cases, file)


main(*sys.argv[1:])
