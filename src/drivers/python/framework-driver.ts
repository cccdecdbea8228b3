import { PYTHON_FRAMEWORKS, type PythonFramework } from "../../storage/runtimes/python-frameworks.ts";
import { type Driver, defineDriver } from "../driver.ts";
import type { OptionSpec, OptionTable } from "../option-table.ts";
import { boosterLibrary } from "./booster-file.ts";
import { loadPythonModel } from "./load-python-model.ts";
import { PYTHON_HOST_OPTIONS, type PythonHostOptions } from "./python-host-options.ts";

/**
 * The driver of a framework that needs nothing but its entry of
 * {@link PYTHON_FRAMEWORKS}, its options and its Python module.
 */
export function frameworkDriver(name: string): Driver {
  const { title, module, install, files = "", endings = [] } = PYTHON_FRAMEWORKS[name] as PythonFramework;
  const framework = { name, title, module, files, howToInstall: `Install it there: ${install}.` };
  const ownTable = frameworkOptions(name);
  return defineDriver<PythonHostOptions>({
    name,
    options: { ...ownTable, ...PYTHON_HOST_OPTIONS } as OptionTable<PythonHostOptions>,
    placement: "inline",
    isIsolated: true,
    detect: (path) => {
      const library = boosterLibrary(path);
      return library === undefined ? endings.some((ending) => path.toLowerCase().endsWith(ending)) : library === name;
    },
    load: (path, options, host) => {
      const own = Object.fromEntries(Object.entries(options).filter(([key]) => Object.hasOwn(ownTable, key)));
      return loadPythonModel({ framework, path, options, own }, host);
    },
  });
}

type Options = Readonly<Record<string, OptionSpec>>;

/** The `-o` keys that a framework's module takes in addition to those of the host of Python models. */
function frameworkOptions(name: string): Options {
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
