import { hintedError, missingInput, unknownName } from "../../error-info.ts";
import { invalidArgument, ServingError } from "../../errors.ts";
import type { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { ElementBuffer } from "../../tensor/codecs/json/element-buffer.ts";
import {
  appendElements,
  inferDType,
  type JsonTensorRules,
  shapeOf,
  toJsonTensor,
  toNumericTensor,
} from "../../tensor/codecs/json/json-tensor.ts";
import {
  dumpJson,
  isJsonList,
  isJsonObject,
  type JsonList,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
} from "../../tensor/codecs/json/json-value.ts";
import type { DType } from "../../tensor/dtype.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensors, MAX_RANK, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { isBase64Object, rulesNaming, rulesOf, tensorflowRules } from "./json-tensor-rules.ts";

/** The input that a plain value is for, if nothing names one. */
export const UNNAMED_INPUT = "inputs";

/** Facts about a model's inputs that are known. */
export interface KnownInputs {
  readonly specs: readonly TensorSpec[] | undefined;
  /** The only input, if its name alone is known. */
  readonly unnamed?: string | undefined;
  /** Default: {@link rulesOf} the specs. */
  readonly rules?: JsonTensorRules;
  /** The dtype of numbers that are not all whole, of an input that no spec describes. Default float32. */
  readonly floats?: "float32" | "float64";
  /** The dtype of numbers of an input that no spec describes, if it holds them. */
  readonly likely?: (name: string) => DType | undefined;
  /** True if columns came as rows, which errors are to name. */
  readonly areRows?: boolean;
}

type NamedDType = Pick<TensorSpec, "name" | "dtype" | "default">;

/**
 * The tensors of a list of instances, which has one element at least: each instance is a value of the only input, or an
 * object with a value for each input. All instances of one input have one shape.
 */
export function readInstances(instances: JsonValue, known: KnownInputs, budget: DecodeBudget): Tensors {
  const { specs, unnamed = UNNAMED_INPUT, rules = rulesOf(specs) } = known;
  const isNamed = !(instances instanceof JsonNumbers) && isNamedInstance((instances as JsonList)[0]);
  if (isNamed)
    return readNamed(instances as JsonList, specs ?? inferSpecs(instances as JsonList, known, budget), rules);
  if (specs !== undefined && specs.length > 1) {
    throw invalidArgument(
      "instances is a plain list, but expecting list of objects as multiple input tensors required as per tensorinfo_map",
    );
  }
  const { name, dtype } = specs?.[0] ?? { name: unnamed, dtype: dtypeOfValues([instances], unnamed, known) };
  const tensor =
    instances instanceof JsonNumbers
      ? readBlock(instances, dtype, rulesNaming(name, tensorflowRules))
      : readPlain(instances as JsonList, dtype, rulesNaming(name, rules));
  return createTensors([[name, tensor]]);
}

/** Checks that an instance is an object with a value for each input. */
export function isNamedInstance(value: JsonValue | undefined): value is JsonObject {
  return isJsonObject(value) && !isBase64Object(value);
}

/** Instances that are one block of numbers have one shape; only their values may be wrong. */
function readBlock(instances: JsonNumbers, dtype: DType, rules: JsonTensorRules): Tensor {
  const tensor = toNumericTensor(instances, dtype, rules);
  if (tensor !== undefined) return tensor;
  const refuse: JsonTensorRules["refuse"] = (mismatch) => inInstance(mismatch.path[0] ?? 0, rules.refuse(mismatch));
  return toJsonTensor(instances, dtype, { ...rules, refuse });
}

function readPlain(instances: JsonList, dtype: DType, rules: JsonTensorRules): Tensor {
  const column = new Column(dtype, rules);
  for (const [index, instance] of instances.entries()) {
    if (isNamedInstance(instance)) {
      throw invalidArgument(`Expecting value/list but got object at item ${index} of input list`);
    }
    try {
      column.add(instance);
    } catch (reason) {
      throw inInstance(index, reason);
    }
  }
  return column.finish();
}

function readNamed(instances: JsonList, specs: readonly NamedDType[], rules: JsonTensorRules): Tensors {
  const columns = toColumns(specs, instances[0] as JsonObject, rules);
  for (const [index, instance] of instances.entries()) {
    if (!isNamedInstance(instance))
      throw invalidArgument(`Expecting object but got list at item ${index} of input list`);
    addInstance(columns, instance, index);
  }
  return createTensors([...columns].map(([name, column]) => [name, column.finish()]));
}

/** An input with a default may be absent, if it is absent in all instances. */
function toColumns(
  specs: readonly NamedDType[],
  first: JsonObject,
  rules: JsonTensorRules,
): ReadonlyMap<string, Column> {
  const sent = specs.filter((spec) => spec.default === undefined || Object.hasOwn(first, spec.name));
  return new Map(sent.map(({ name, dtype }) => [name, new Column(dtype, rulesNaming(name, rules))]));
}

/** The names that the first instance has; a dtype for all values of each. */
function inferSpecs(instances: JsonList, known: KnownInputs, budget: DecodeBudget): readonly NamedDType[] {
  const objects = instances.filter(isNamedInstance);
  const names = Object.keys(instances[0] as JsonObject);
  budget.countInputs(names.length);
  return names.map((name) => {
    const values = objects.map((instance) => instance[name]).filter((value) => value !== undefined);
    return { name, dtype: dtypeOfValues(values, name, known) };
  });
}

/** The dtype of an input's values without a spec; booleans and numbers beside each other are numbers by such rules. */
export function dtypeOfValues(
  values: readonly JsonValue[],
  name: string,
  { floats = "float32", likely, rules }: KnownInputs,
): DType {
  const dtype = inferDType(values, floats, likely?.(name));
  if (rules?.truthIsNumber !== true || dtype === "bytes") return dtype;
  const isOther = dtype === "bool" ? isMissingOrNumber : isTruth;
  const isMixed = values.some((value) => isOther(value) || (isJsonList(value) && value.some(isOther)));
  return isMixed ? floats : dtype;
}

function isMissingOrNumber(value: JsonValue): boolean {
  return value === null || value instanceof JsonNumbers;
}

function isTruth(value: JsonValue): boolean {
  return typeof value === "boolean";
}

/** The tensors of an object with a value for each input. Throws `invalid_argument` for one that lacks an input. */
export function readNamedColumns(columns: JsonObject, known: KnownInputs, budget: DecodeBudget): Tensors {
  const { specs, rules = rulesOf(specs), areRows = false } = known;
  const tensors = createTensors();
  for (const spec of specs ?? inferColumns(columns, known, budget)) {
    const value = columns[spec.name];
    const own = rulesNaming(spec.name, rules);
    if (value !== undefined)
      tensors[spec.name] = toJsonTensor(value, spec.dtype, areRows ? inRows(spec.name, own) : own);
    else if (!("default" in spec)) throw lacks(spec.name, specs ?? []);
  }
  return tensors;
}

/** The rules for a column of rows: the error of a value says in which row it came, and counts rows as people do. */
function inRows(name: string, rules: JsonTensorRules): JsonTensorRules {
  const refuse: JsonTensorRules["refuse"] = (mismatch) => {
    const cause = ServingError.from(rules.refuse(mismatch));
    const message = `Row ${(mismatch.path[0] ?? 0) + 1}, ${dumpJson(name)}: ${cause.message}`;
    return new ServingError(cause.code, message, { cause, details: cause.details });
  };
  return { ...rules, refuse };
}

function lacks(field: string, specs: readonly TensorSpec[]): ServingError {
  const text = `Missing named input: ${field} in 'inputs' object.`;
  const names = specs.map(({ name }) => name);
  return hintedError("invalid_argument", text, missingInput(field, names));
}

/** The names that came; a dtype for each one's value. */
function inferColumns(
  columns: JsonObject,
  known: KnownInputs,
  budget: DecodeBudget,
): readonly Pick<TensorSpec, "name" | "dtype">[] {
  const names = Object.keys(columns);
  budget.countInputs(names.length);
  return names.map((name) => ({ name, dtype: dtypeOfValues([columns[name] as JsonValue], name, known) }));
}

function addInstance(columns: ReadonlyMap<string, Column>, instance: JsonObject, index: number): void {
  const names = Object.keys(instance);
  for (const name of names) {
    try {
      const column = columns.get(name);
      if (column === undefined) throw noInput(name, columns.keys());
      column.add(instance[name] as JsonValue);
    } catch (reason) {
      throw inInstance(index, reason, ` key: ${name}`);
    }
  }
  if (names.length === columns.size) return;
  const known = [...columns.keys()].sort();
  throw hintedError(
    "invalid_argument",
    `Failed to process element: ${index} of 'instances' list. JSON object: ${dumpJson(instance)} keys must be equal to: ${known.join(",")}`,
    missingInput(
      known.find((name) => !names.includes(name)),
      known,
    ),
  );
}

function noInput(name: string, known: Iterable<string>): ServingError {
  const hint = unknownName("UNKNOWN_INPUT", name, known);
  return hintedError("invalid_argument", `JSON object: does not have named input: ${name}`, hint);
}

/** One input's values of all instances. */
class Column {
  readonly #elements: ElementBuffer;
  readonly #rules: JsonTensorRules;
  #shape: readonly number[] | undefined;
  #count = 0;

  constructor(dtype: DType, rules: JsonTensorRules) {
    this.#elements = new ElementBuffer(dtype, rules);
    this.#rules = rules;
  }

  add(value: JsonValue): void {
    const shape = shapeOf(value, this.#rules);
    // The instances are a dimension too.
    if (shape.length === MAX_RANK) throw this.#rules.refuse({ kind: "rank", path: [], shape });
    const before = this.#elements.length;
    appendElements(this.#elements, value, { shape, rules: this.#rules });
    this.#shape ??= shape;
    const size = this.#elements.length - before;
    const expected = before / Math.max(this.#count, 1);
    if (this.#count > 0 && size !== expected)
      throw invalidArgument(`Expecting tensor size: ${expected} but got: ${size}`);
    if (!isSameShape(shape, this.#shape)) throw invalidArgument(`Expecting shape [${this.#shape}] but got: [${shape}]`);
    this.#count++;
  }

  finish(): Tensor {
    return this.#elements.finish([this.#count, ...(this.#shape ?? [])]);
  }
}

function isSameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((dim, index) => dim === b[index]);
}

/** The error of one instance, as it appears in the whole request's. */
function inInstance(index: number, reason: unknown, key = ""): ServingError {
  const { code, message, details } = ServingError.from(reason);
  const text = `Failed to process element: ${index}${key} of 'instances' list. Error: ${code.toUpperCase()}: ${message}`;
  return new ServingError(code, text, { cause: reason, details });
}
