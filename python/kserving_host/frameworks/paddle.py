"""PaddlePaddle: inference models, as paddle.jit.save writes them, and those of older versions (.pdmodel)."""

import re

import paddle
from paddle import inference

from ..errors import one_line, refused
from ..framework import BaseFramework
from ..signals import pass_over_signals
from .paddle_files import find_files, read_specs

# Paddle has handlers of its own for signals, which print a report and end the process.
paddle.disable_signal_handler()
pass_over_signals()

# The sentence in the middle of an error of Paddle.
SENTENCE = re.compile(r"^\s*(?:\w+Error:|\(\w+\)) (.+?)(?=\s*(?:\[Hint|\[operator|\(at |$))", re.S | re.M)


class Framework(BaseFramework):
    """Runs on the processor."""

    dry_runs = False

    def load(self):
        program, parameters = find_files(self.request.path)
        try:
            self.model = inference.create_predictor(self._config(program, parameters))
        except Exception as error:
            raise refused(f"Paddle {paddle.__version__} cannot load the model: {self.message_of(error)}", error) from error
        self.model_class = type(self.model)
        specs = read_specs(program)
        self._names = self.model.get_input_names()
        self.inputs = self.request.inputs or [specs.get(name, {"name": name}) for name in self._names]
        self._outputs = {given: name for given, name in zip(self._given_names(), self.model.get_output_names())}
        self.outputs = [{**specs[name], "name": given} for given, name in self._outputs.items() if name in specs] or None

    def predict(self, inputs, wanted):
        self.check_names(inputs, self._names, self._names)
        for name, array in inputs.items():
            self.model.get_input_handle(name).copy_from_cpu(array)
        self.model.run()
        names = [name for name in self._outputs if wanted is None or name in wanted]
        return {name: self.model.get_output_handle(self._outputs[name]).copy_to_cpu() for name in names}

    def is_callers_fault(self, error):
        return isinstance(error, (ValueError, TypeError))

    def message_of(self, error):
        found = SENTENCE.search(str(error))
        return " ".join(found.group(1).split()) if found else one_line(error)

    def facts(self):
        return {"class": "Predictor", "paddle": paddle.__version__}

    def _config(self, program, parameters):
        config = inference.Config(program, parameters) if parameters else inference.Config(program)
        config.disable_gpu()
        config.disable_glog_info()
        config.set_cpu_math_library_num_threads(self.request.threads)
        return config

    def _given_names(self):
        own = self.model.get_output_names()
        given = self.request.outputs or own
        if len(given) != len(own):
            raise refused(f"The model has {len(own)} outputs ({', '.join(own)}); the option outputs names {len(given)}.")
        return given
