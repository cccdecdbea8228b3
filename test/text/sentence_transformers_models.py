"""
Writes models of sentence-transformers, each with its ONNX file, and what Python makes of lines of text with it.

    python sentence_transformers_models.py FOLDER TOKENIZER LINES [MODEL]

Those of random weights have a way of pooling each, with the tokenizer of the file TOKENIZER; MODEL is the folder of a
real one. LINES is a JSON list of texts. FOLDER gets a folder of each model, with its answers in expected.json.
"""

import json
import pathlib
import sys

import torch
from sentence_transformers import CrossEncoder, SentenceTransformer, models
from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizerFast

FOLDER, TOKENIZER, LINES, *REAL = sys.argv[1:]
TEXTS = json.loads(pathlib.Path(LINES).read_text(encoding="utf-8"))
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
CONFIG = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
# Prompts and lower case as options of the model, beside the ways of pooling.
KINDS = {
    **{mode: {"pooling_mode": mode} for mode in ("mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")},
    "several": {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True},
    "normalised": {"pooling_mode": "mean", "normalises": True},
    "cut": {"pooling_mode": "cls", "max_seq_length": 12},
    "prompted": {"pooling_mode": "mean", "prompts": {"q": "query: "}, "default_prompt_name": "q"},
    "lowered": {"pooling_mode": "mean", "do_lower_case": True},
}


def tokenizer(lowers=True):
    return BertTokenizerFast(tokenizer_file=TOKENIZER, model_max_length=512, do_lower_case=lowers)


def export(model, folder, output):
    """Writes the network with open numbers of texts and tokens."""
    axes = {0: "texts", 1: "tokens"}
    torch.onnx.export(
        model.eval(),
        tuple(torch.ones((2, 4), dtype=torch.int64) for _ in INPUTS),
        str(folder / "model.onnx"),
        input_names=INPUTS,
        output_names=[output],
        dynamic_axes={**{name: axes for name in INPUTS}, output: axes if output == "last_hidden_state" else {0: "texts"}},
        opset_version=14,
    )


def finish(model, folder):
    """Adds the ONNX file and the answers to a saved model."""
    export(model[0].auto_model, folder, "last_hidden_state")
    vectors = model.encode(TEXTS, batch_size=8, show_progress_bar=False)
    (folder / "expected.json").write_text(json.dumps({"vectors": vectors.tolist()}))


def embeddings(name, normalises=False, max_seq_length=64, do_lower_case=False, prompts=None, default_prompt_name=None, **pools):
    # A tokenizer and random weights are saved, and loaded as users load them.
    plain = pathlib.Path(FOLDER) / "plain" / name
    BertModel(BertConfig(vocab_size=len(tokenizer()), **CONFIG)).save_pretrained(plain)
    # One that lowers by itself would hide whether the module's option is heeded.
    tokenizer(lowers=not do_lower_case).save_pretrained(plain)
    transformer = models.Transformer(str(plain), max_seq_length=max_seq_length, do_lower_case=do_lower_case)
    pooling = models.Pooling(CONFIG["hidden_size"], **pools)
    steps = [transformer, pooling, *([models.Normalize()] if normalises else [])]
    model = SentenceTransformer(
        modules=steps, device="cpu", prompts=prompts, default_prompt_name=default_prompt_name
    )
    folder = pathlib.Path(FOLDER) / name
    model.save(str(folder), create_model_card=False)
    finish(model, folder)


def trace(name):
    """Writes TorchScript of an encoder beside its tokenizer, of the weights that save_pretrained wrote."""
    encoder = BertModel.from_pretrained(pathlib.Path(FOLDER) / "plain" / name, torchscript=True).eval()
    tokens = torch.ones((2, 4), dtype=torch.int64)
    torch.jit.trace(encoder, (tokens, tokens, torch.zeros_like(tokens))).save(pathlib.Path(FOLDER) / name / "model.pt")


def scores(name, labels):
    folder = pathlib.Path(FOLDER) / name
    config = BertConfig(vocab_size=len(tokenizer()), num_labels=labels, initializer_range=0.5, **CONFIG)
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    model = CrossEncoder(str(folder), device="cpu")
    export(model.model, folder, "logits")
    pairs = list(zip(TEXTS, TEXTS[1:]))
    expected = model.predict(pairs, batch_size=8, show_progress_bar=False)
    (folder / "expected.json").write_text(json.dumps({"scores": expected.tolist()}))


torch.manual_seed(1)
for name, kind in KINDS.items():
    embeddings(name, **kind)
scores("pairs", 1)
trace("mean")
for path in REAL:
    model = SentenceTransformer(path, device="cpu")
    folder = pathlib.Path(FOLDER) / "real"
    model.save(str(folder), create_model_card=False)
    finish(model, folder)
