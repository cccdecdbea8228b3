import { invalidArgument } from "../errors.ts";
import { defineDriver, type Model, type PartsModel } from "./driver.ts";
import { loadPythonModel } from "./python/load-python-model.ts";
import { PYTHON_HOST_OPTIONS, type PythonHostOptions, parseModelArgs } from "./python/python-host-options.ts";

interface PythonOptions extends PythonHostOptions {
  readonly model_class?: string;
  readonly model_args?: string;
  readonly model: Readonly<Record<string, string>>;
}

/** Runs the user's own class in the user's own Python. */
export default defineDriver<PythonOptions, Model | PartsModel>({
  name: "python",
  options: {
    model_class: {
      type: "string",
      help: "The class, as package.module:Model; it has predict(inputs) or predict_stream(inputs), and if it likes load(path, options), inputs, outputs, close().",
    },
    model_args: {
      type: "string",
      help: "Arguments of the class as JSON: an object gives them by name, a list by position.",
    },
    model: { type: "prefix", help: "What load gets as its options, such as model.threshold=0.5." },
    ...PYTHON_HOST_OPTIONS,
  },
  placement: "inline",
  isIsolated: true,
  pathless: true,
  load: async (path, options, host) => {
    const { model_class, model_args, model } = options;
    if (model_class === undefined) throw invalidArgument(WHICH_CLASS);
    const own = { model_class, model_args: parseModelArgs(model_args), all: model };
    return loadPythonModel({ framework: PYTHON, path, options, own }, host);
  },
});

const WHICH_CLASS = "The python driver needs the class to serve: -o model_class=package.module:Model.";
const PYTHON = {
  name: "python",
  title: "numpy",
  module: "numpy",
  files: "the file or folder that your class loads",
  howToInstall: "Install it there: pip install numpy.",
};
