"""
Writes encoders of random weights as transformers and sentence-transformers save them, each with what these make of
texts in expected.json.

    python encoder_models.py FOLDER TOKENIZER LINES

The tokenizer is that of the file TOKENIZER, LINES is a JSON list of texts.
"""

import json
import pathlib
import sys

import torch
import transformers
from sentence_transformers import CrossEncoder, SentenceTransformer, models

FOLDER, TOKENIZER, LINES = sys.argv[1:]
TEXTS = json.loads(pathlib.Path(LINES).read_text(encoding="utf-8"))
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
LABELS = {"id2label": {0: "O", 1: "B-PER", 2: "I-PER"}, "label2id": {"O": 0, "B-PER": 1, "I-PER": 2}}


def tokenizer(kind="Bert"):
    # Others than BERT have no types of tokens.
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if kind == "Bert" else [])]
    return transformers.BertTokenizerFast(tokenizer_file=TOKENIZER, model_max_length=64, model_input_names=names)


def save(name, head, kind="Bert", **config):
    """The folder of a model with its tokenizer; weights are far apart, so that a wrong one shows."""
    folder = pathlib.Path(FOLDER) / name
    sizes = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64} if kind == "DistilBert" else SIZES
    settings = getattr(transformers, f"{kind}Config")(vocab_size=len(tokenizer()), initializer_range=0.5, **sizes, **config)
    getattr(transformers, f"{kind}{head}")(settings).save_pretrained(folder)
    tokenizer(kind).save_pretrained(folder)
    return folder


def expect(folder, **answers):
    (folder / "expected.json").write_text(json.dumps(answers))


def older_embedding():
    """As versions before 2.0 of sentence-transformers saved it: the encoder in a folder of its own."""
    transformer = models.Transformer(str(save("plain", "Model")), max_seq_length=24)
    model = SentenceTransformer(modules=[transformer, models.Pooling(32, pooling_mode="cls"), models.Normalize()], device="cpu")
    folder = pathlib.Path(FOLDER) / "older"
    model.save(str(folder), create_model_card=False)
    inner = folder / "0_Transformer"
    inner.mkdir()
    of_whole = {"modules.json", "config_sentence_transformers.json"}
    for file in [file for file in folder.iterdir() if file.is_file() and file.name not in of_whole]:
        file.rename(inner / file.name)
    steps = json.loads((folder / "modules.json").read_text())
    steps[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(steps))
    again = SentenceTransformer(str(folder), device="cpu")
    expect(folder, vectors=again.encode(TEXTS, show_progress_bar=False).tolist())


def plain_embedding(kind):
    """Without modules: what sentence-transformers makes of it, the mean of the tokens."""
    folder = save(kind.lower(), "Model", kind)
    expect(folder, vectors=SentenceTransformer(str(folder), device="cpu").encode(TEXTS, show_progress_bar=False).tolist())


def pairs():
    folder = save("pairs", "ForSequenceClassification", num_labels=1)
    model = CrossEncoder(str(folder), device="cpu")
    expect(folder, scores=model.predict(list(zip(TEXTS, TEXTS[1:])), show_progress_bar=False).tolist())


def classes():
    folder = save("classes", "ForSequenceClassification", **LABELS)
    run = transformers.pipeline("text-classification", str(folder), top_k=None)
    rows = [{each["label"]: each["score"] for each in found} for found in run(TEXTS, truncation=True)]
    expect(folder, scores=[[row[label] for label in LABELS["label2id"]] for row in rows])


def words():
    folder = save("words", "ForTokenClassification", **LABELS)
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder)
    given = tokenizer()(TEXTS[0], truncation=True, return_tensors="pt")
    with torch.inference_mode():
        logits = model(**given).logits
    run = transformers.pipeline("token-classification", str(folder), aggregation_strategy="simple")
    entities = [{**each, "score": float(each["score"])} for each in run(TEXTS[0])]
    expect(folder, tokens=given["input_ids"].tolist(), logits=logits.tolist(), entities=entities)


torch.manual_seed(1)
older_embedding()
for kind in ("Bert", "DistilBert", "Roberta"):
    plain_embedding(kind)
pairs()
classes()
words()
