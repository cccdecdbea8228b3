import { invalidArgument, reasonText, type ServingError } from "../../errors.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import { DTYPES, type DType, isDType } from "../../tensor/dtype.ts";
import type { LooseSpec } from "../../tensor/signature/signature.ts";
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

const EXPECTED_SPECS = "expected name, name:dtype, name[2,-1] or name:dtype[2,-1], separated by commas";
const ONE = /^(?<name>[^\s:,[\]]+)(?::(?<dtype>\w+))?(?:\[(?<shape>[^\]]*)\])?$/;

/** Reads the option `inputs`, such as `x:float32[-1,4],mask`; throws `invalid_argument` with the error. */
export function parseSpecs(text: string): LooseSpec[] {
  // Commas within brackets belong to a shape.
  const specs = text.split(/,(?![^[]*\])/).map((part) => parseSpec(part.trim()));
  const twice = specs.find(({ name }, index) => specs.findIndex((each) => each.name === name) !== index);
  if (twice !== undefined) throw invalidArgument(`Option "inputs" has "${twice.name}" twice.`);
  return specs;
}

/** Reads the option `outputs`; throws `invalid_argument` for an empty name. */
export function parseNames(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw invalidArgument(`Option "outputs" is "${text}"; expected names separated by commas.`);
  return names;
}

function parseSpec(text: string): LooseSpec {
  const { name, dtype, shape } = ONE.exec(text)?.groups ?? {};
  if (name === undefined) throw invalidArgument(`Option "inputs" has "${text}"; ${EXPECTED_SPECS}.`);
  const known = dtype === undefined ? { name } : { name, dtype: parseDType(dtype, name) };
  return shape === undefined ? known : { ...known, shape: parseShape(shape, text) };
}

function parseDType(text: string, name: string): DType {
  if (isDType(text)) return text;
  throw invalidArgument(
    `Option "inputs" gives "${name}" the dtype "${text}".${didYouMean(text, DTYPES)} ${DTYPES_ARE}`,
  );
}

function parseShape(text: string, whole: string): number[] {
  if (text.trim() === "") return [];
  const sizes = text.split(",").map(Number);
  if (sizes.every((size) => Number.isInteger(size) && size >= -1)) return sizes;
  throw invalidArgument(`Option "inputs" has "${whole}"; expected sizes of 0 or more, or -1 for any.`);
}

const DTYPES_ARE = `Expected one of ${DTYPES.join(", ")}.`;

/** Reads the option `model_args`, a JSON object or list; throws `invalid_argument` for anything else. */
export function parseModelArgs(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  const value = parse(text);
  if (typeof value === "object" && value !== null) return value;
  throw invalid(text, `it is ${value === null ? "null" : `a ${typeof value}`}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid(text, reasonText(cause));
  }
}

function invalid(text: string, why: string): ServingError {
  const expected = 'a JSON object such as {"hidden": 8}, or a list';
  return invalidArgument(`Option "model_args" is "${text}"; expected ${expected}: ${why}.`);
}
