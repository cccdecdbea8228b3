"""Hugging Face's transformers: a folder with a model and what prepares its inputs, run as a pipeline of one task."""

import json
import os

# The folder has everything: nothing is downloaded.
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers

from ..columns import column, ragged, to_texts
from ..errors import invalid, one_line, refused
from ..framework import BaseFramework
from .pytorch import CALLERS_FAULT
from .transformers_tasks import TASKS, choose_task, input_spec, output_specs, values_of

# Bars of progress would be lines of the log.
transformers.utils.logging.disable_progress_bar()


class Framework(BaseFramework):
    """Inputs and outputs are those of the task."""

    dry_runs = False

    def load(self):
        options = self.request.options
        torch.set_num_threads(self.request.threads)
        task = choose_task(options.get("task"), self.request.path)
        self._task = TASKS[task]
        self._arguments = {**self._task.arguments, **{name: _parse(text) for name, text in options.get("argument", {}).items()}}
        trusted = {"trust_remote_code": options["trust_remote_code"]}
        try:
            self._run = transformers.pipeline(options.get("task") or task, model=self.request.path, device=options["device"], **trusted)
        except Exception as error:
            raise refused(f"transformers {transformers.__version__} cannot load the model: {one_line(error)}", error) from error
        self.model = self._run.model
        self.model_class = type(self.model)
        self.inputs = self.request.inputs or [input_spec(name) for name in self._task.inputs]
        self.outputs = output_specs(self._task)

    def predict(self, inputs, wanted):
        self.check_names(inputs, self._task.inputs, self._task.inputs)
        # Row by row: some pipelines unpack a list of one, and without being asked none runs rows together.
        results = [self._run(row, **labels, **self._arguments) for row, labels in _rows(inputs)]
        if "features" in self._task.outputs:
            return {"features": _stack([np.asarray(result, np.float32)[0] for result in results])}
        rows = [values_of(self._task, result) for result in results]
        if not self._task.has_lists:
            return {name: column([row[name][0] for row in rows], dtype) for name, dtype in self._task.outputs.items()}
        outputs = {name: ragged([row[name] for row in rows], dtype) for name, dtype in self._task.outputs.items()}
        return {**outputs, "count": column([len(next(iter(row.values()))) for row in rows], "int64")}

    def is_callers_fault(self, error):
        if isinstance(error, (UnicodeDecodeError, transformers.pipelines.base.PipelineException)):
            return True
        # A text that is longer than the model bears is torch's error.
        return isinstance(error, (RuntimeError, IndexError)) and CALLERS_FAULT.search(str(error)) is not None

    def facts(self):
        return {"class": self.model_class.__name__, "task": self._run.task, "parameters": sum(each.numel() for each in self.model.parameters())}


def _parse(text):
    """An argument as JSON where it is JSON, else a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _rows(inputs):
    """For each row what the pipeline takes, and the labels that are offered for all rows."""
    given = dict(inputs)
    offered = given.pop("candidate_labels", None)
    labels = {} if offered is None else {"candidate_labels": to_texts(offered)}
    if "image" in given:
        return [(_image(each), labels) for each in given["image"]]
    texts = {name: to_texts(array) for name, array in given.items()}
    sizes = {len(each) for each in texts.values()}
    if len(sizes) > 1:
        raise invalid(f"{' and '.join(texts)} have different numbers of texts: {', '.join(map(str, sorted(sizes)))}.")
    if len(texts) == 1:
        return [(text, labels) for text in next(iter(texts.values()))]
    return [(dict(zip(texts, row)), labels) for row in zip(*texts.values())]


def _image(array):
    from PIL import Image

    return Image.fromarray(np.ascontiguousarray(array))


def _stack(arrays):
    """One array of them all; those with fewer tokens end in zeros."""
    longest = max((len(each) for each in arrays), default=0)
    width = arrays[0].shape[1] if arrays else 0
    stacked = np.zeros((len(arrays), longest, width), np.float32)
    for index, each in enumerate(arrays):
        stacked[index, : len(each)] = each
    return stacked
