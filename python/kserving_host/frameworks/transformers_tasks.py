"""What each task of a transformers pipeline takes and gives."""

import json
import os

from ..errors import invalid, refused

# By the ending of a model's class, where the task does not say.
TASK_OF_CLASS = {
    "ForSequenceClassification": "text-classification",
    "ForTokenClassification": "token-classification",
    "ForMaskedLM": "fill-mask",
    "ForQuestionAnswering": "question-answering",
    "ForCausalLM": "text-generation",
    "LMHeadModel": "text-generation",
    "ForConditionalGeneration": "text2text-generation",
    "ForImageClassification": "image-classification",
    "Model": "feature-extraction",
}


class Task:
    """Names of the inputs; dtypes of the outputs by name; whether a row has a list of each; arguments of each call."""

    def __init__(self, inputs, outputs, has_lists=False, arguments=None):
        self.inputs = inputs
        self.outputs = outputs
        self.has_lists = has_lists
        self.arguments = arguments or {}


LABELS = {"label": "bytes", "score": "float32"}
TASKS = {
    "text-classification": Task(["text"], LABELS, True, {"top_k": None}),
    "token-classification": Task(["text"], {"entity": "bytes", "score": "float32", "word": "bytes", "start": "int64", "end": "int64"}, True),
    "fill-mask": Task(["text"], {"sequence": "bytes", "token_str": "bytes", "score": "float32"}, True),
    "zero-shot-classification": Task(["text", "candidate_labels"], {"labels": "bytes", "scores": "float32"}, True),
    "question-answering": Task(["question", "context"], {"answer": "bytes", "score": "float32", "start": "int64", "end": "int64"}),
    "text-generation": Task(["text"], {"generated_text": "bytes"}),
    "text2text-generation": Task(["text"], {"generated_text": "bytes"}),
    "summarization": Task(["text"], {"summary_text": "bytes"}),
    "translation": Task(["text"], {"translation_text": "bytes"}),
    "feature-extraction": Task(["text"], {"features": "float32"}),
    "image-classification": Task(["image"], LABELS, True),
}


def input_spec(name):
    """A text a row, or an image of 8 bits a channel."""
    if name == "image":
        return {"name": name, "dtype": "uint8", "shape": [-1, -1, -1, 3]}
    return {"name": name, "dtype": "bytes", "shape": [-1]}


def output_specs(task):
    """One value a row, or several; `count` says how many are real."""
    if "features" in task.outputs:
        return [{"name": "features", "dtype": "float32", "shape": [-1, -1, -1]}]
    shape = [-1, -1] if task.has_lists else [-1]
    specs = [{"name": name, "dtype": dtype, "shape": shape} for name, dtype in task.outputs.items()]
    return [*specs, {"name": "count", "dtype": "int64", "shape": [-1]}] if task.has_lists else specs


def values_of(task, result):
    """Lists of values by output, of what a pipeline gave for one row."""
    if isinstance(result, dict) and task.has_lists:
        return {name: result[name] for name in task.outputs}
    found = [result] if isinstance(result, dict) else result
    if any(isinstance(each, list) for each in found):
        raise invalid("The text has several masks; expected one.")
    return {name: [_member(each, name) for each in found] for name in task.outputs}


def _member(found, name):
    # Entities of several tokens are groups. Slow tokenizers do not know places.
    value = found.get(name, found.get("entity_group") if name == "entity" else None)
    return -1 if value is None else value


def choose_task(asked, folder):
    """The name of the task: the user's, else the one of the model's class."""
    if asked is not None:
        # As pipelines write them, translation_en_to_fr is a translation.
        known = "translation" if asked.startswith("translation_") else asked
        if known in TASKS:
            return known
        raise refused(f'The option task is "{asked}"; expected one of {", ".join(TASKS)}.')
    names = _classes(folder)
    for name in names:
        for ending, task in TASK_OF_CLASS.items():
            if name.endswith(ending):
                return task
    raise refused(f"config.json names {', '.join(names) or 'no class'}, which tells no task; expected -o task= with one of {', '.join(TASKS)}.")


def _classes(folder):
    path = os.path.join(folder, "config.json")
    if not os.path.isfile(path):
        raise refused("The folder has no config.json; expected what save_pretrained wrote of a model and of its tokenizer.")
    try:
        with open(path, encoding="utf-8") as file:
            return [str(each) for each in json.load(file).get("architectures") or []]
    except (ValueError, AttributeError) as error:
        raise refused(f"config.json is not read: {error}.", error) from error
