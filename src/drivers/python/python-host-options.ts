import type { OptionTable } from "../option-table.ts";

/** The `-o` keys of every driver whose models run in Python. */
export interface PythonHostOptions {
  readonly python?: string;
  readonly processes: number;
  readonly batch: number;
  readonly timeout: number;
  readonly import_path?: string;
  readonly inputs?: string;
  readonly outputs?: string;
}

/** Options of the host of Python models, for any framework. */
export const PYTHON_HOST_OPTIONS: OptionTable<PythonHostOptions> = {
  python: {
    type: "string",
    help: "The interpreter; left out, the first that has what is needed of VIRTUAL_ENV, CONDA_PREFIX, python3 and the runtimes folder.",
  },
  processes: { type: "integer", min: 1, default: 1, help: "Python processes, each with the model in it." },
  batch: {
    type: "integer",
    min: 0,
    default: 0,
    aliasOf: "max_batch_size",
    help: "Rows of one run at most, put together from waiting requests; another name of max_batch_size.",
  },
  timeout: {
    type: "number",
    min: 0,
    default: 300,
    help: "Seconds that one run may take before its process is ended and replaced; 0 = as long as it takes.",
  },
  import_path: {
    type: "string",
    help: "Folders to import from, in addition to those of the model, of the hooks and in PYTHONPATH; separated as PYTHONPATH is.",
  },
  inputs: {
    type: "string",
    help: "The inputs in their order, each as name, name:dtype, name[2,-1] or name:dtype[2,-1]; -1 = any size. With shapes clients see them.",
  },
  outputs: { type: "string", help: "Names of the outputs in their order, separated by commas." },
};
