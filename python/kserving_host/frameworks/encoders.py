"""Encoders of Hugging Face's transformers, from a folder of theirs: numbers of tokens in, vectors of the tokens or logits out."""

import inspect
import json
import os
import sys

import torch

from ..errors import HostError, invalid, listed, one_line, refused, traceback_text
from .pytorch_files import Loaded

# transformers' classes by what the architecture ends in, each with the output that is served.
HEADS = {
    "Model": ("AutoModel", "last_hidden_state"),
    "ForSequenceClassification": ("AutoModelForSequenceClassification", "logits"),
    "ForTokenClassification": ("AutoModelForTokenClassification", "logits"),
}


class Encoder(torch.nn.Module):
    """A model with the inputs that a tokenizer makes, and the one output that is served, in float32 whatever its weights are."""

    def __init__(self, model, names, output):
        super().__init__()
        self.model = model
        self._names = names
        self._output = output
        # An index beyond these is an error of a GPU, after which its process cannot run anything.
        types = getattr(model.config, "type_vocab_size", None)
        self._sizes = {"input_ids": _vocabulary(model), **({"token_type_ids": types} if "token_type_ids" in names else {})}
        self._positions = _positions(model)

    def forward(self, *values):
        given = dict(zip(self._names, values))
        for name, size in self._sizes.items():
            _check_numbers(name, given[name], size)
        tokens = given["input_ids"].shape[-1]
        if self._positions is not None and tokens > self._positions:
            raise invalid(f"A text has {tokens} tokens; the model has positions for {self._positions}.")
        return {self._output: self.model(**given)[self._output].float()}


def load_encoder(options, device):
    """A Loaded of the folder, with the names, dtypes and shapes of its inputs and outputs."""
    folder, head = options["encoder"]["folder"], options["encoder"]["head"]
    transformers = _import_transformers()
    class_name, output = HEADS[head]
    # Nothing is downloaded, no code of the folder is run, and pickles are loaded only where the user trusts them.
    safe = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": None if options.get("allow_pickle") else True}
    try:
        model, found = getattr(transformers, class_name).from_pretrained(folder, output_loading_info=True, **safe)
    except Exception as error:
        raise refused(f"transformers {transformers.__version__} cannot load the model: {one_line(error)}{_advice(folder)}", error) from error
    _check_weights(model, found["missing_keys"], head)
    if device.type == "cpu" and not (options.get("dtype") or options.get("half")):
        # Half numbers are slower on a processor than whole ones, where it has them at all.
        try:
            model = model.float()
        except ValueError as error:
            raise refused(f"The weights cannot become float32: {one_line(error)} Name a type that they may have: -o dtype=…", error) from error
    # Whatever config.json says: outputs have names, and nothing is kept for a next token.
    model.config.return_dict = True
    if getattr(model.config, "use_cache", False):
        model.config.use_cache = False
    names = _input_names(model, folder)
    inputs = [{"name": name, "dtype": "int64", "shape": [-1, -1]} for name in names]
    width = getattr(model.config, "hidden_size", -1) if head == "Model" else model.config.num_labels
    shape = [-1, width] if head == "ForSequenceClassification" else [-1, -1, width]
    outputs = [{"name": output, "dtype": "float32", "shape": shape}]
    return Loaded(Encoder(model, names, output), "transformers", type(model), inputs=inputs, outputs=outputs)


def _import_transformers():
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        import transformers
    except Exception as error:
        where = f"{sys.executable} (Python {sys.version.split()[0]})"
        raise HostError("unimplemented", f"{where} cannot import transformers: {one_line(error)}", traceback_text(error)) from error
    # Bars of progress would be lines of the log; what is missing among the weights is an error here.
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    return transformers


def _read_json(folder, name):
    """An object of the folder; empty without the file, and for what is none: transformers has its own message then."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _advice(folder):
    if "auto_map" not in _read_json(folder, "config.json"):
        return ""
    return " Its config.json names code of its own (auto_map), which is never run; export its graph where you trust it."


def _check_weights(model, missing, head):
    """transformers gives what a file lacks random numbers, and a warning."""
    # The vectors of tokens do not pass through what makes one of the first.
    lacking = sorted(name for name in missing if head != "Model" or not name.startswith("pooler."))
    if lacking:
        raise refused(f"The weights of {type(model).__name__} lack {listed(lacking)}; expected those of the architecture in config.json.")


def _input_names(model, folder):
    """Without the types of tokens where the model has none, and where its tokenizer does not give them to it."""
    taken = inspect.signature(model.forward).parameters
    given = _read_json(folder, "tokenizer_config.json").get("model_input_names")
    has_types = (getattr(model.config, "type_vocab_size", None) or 0) > 1 and (given is None or "token_type_ids" in given)
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if has_types else [])]
    return [name for name in names if name in taken]


def _vocabulary(model):
    try:
        return model.get_input_embeddings().num_embeddings
    except (AttributeError, NotImplementedError):
        size = getattr(model.config, "vocab_size", None)
    if size is None:
        raise refused(f"{type(model).__name__} does not take numbers of tokens alone; serve it by its task: --driver transformers.")
    return size


def _positions(model):
    """Tokens that it has learnt positions for; RoBERTa's kind counts them from behind the padding's. None for others."""
    for name, part in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(part, torch.nn.Embedding):
            return part.num_embeddings - (0 if part.padding_idx is None else part.padding_idx + 1)
    return None


def _check_numbers(name, tensor, size):
    if tensor.numel() == 0:
        return
    least, most = int(tensor.min()), int(tensor.max())
    if least < 0 or most >= size:
        raise invalid(f'Input "{name}" has {least if least < 0 else most}; expected numbers from 0 to {size - 1}.')
