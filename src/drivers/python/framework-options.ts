import { PYTHON_FRAMEWORKS } from "../../runtimes/python-frameworks.ts";
import type { OptionSpec } from "../option-table.ts";

type Options = Readonly<Record<string, OptionSpec>>;

/** The `-o` keys that a framework's module takes in addition to those of the host of Python models. */
export function frameworkOptions(name: string): Options {
  return { ...OF_FRAMEWORKS[name], ...(PYTHON_FRAMEWORKS[name]?.hasPickles && OF_PICKLES) };
}

const OF_PICKLES: Options = {
  allow_pickle: {
    type: "boolean",
    default: false,
    help: "Loads pickles and joblib files, which run whatever code is in them; for files that you trust.",
  },
};

const OF_FRAMEWORKS: Readonly<Record<string, Options>> = {
  transformers: {
    task: {
      type: "string",
      help: "The task of the pipeline, such as text-classification; left out, that of the class in config.json.",
    },
    device: { type: "string", default: "cpu", help: "Where the model runs: cpu, cuda, cuda:N or mps." },
    argument: {
      type: "prefix",
      help: "Arguments of each run, as JSON or text, such as argument.max_new_tokens=40 or argument.truncation=true.",
    },
    trust_remote_code: {
      type: "boolean",
      default: false,
      help: "Runs Python code that lies in the model's folder; for folders that you trust.",
    },
  },
};
