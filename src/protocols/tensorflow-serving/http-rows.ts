import { invalidArgument } from "../../errors.ts";
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
  isJsonList,
  isJsonObject,
  type JsonList,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
} from "../../tensor/codecs/json/json-value.ts";
import type { DType } from "../../tensor/dtype.ts";
import type { LooseSpec, TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensors, MAX_RANK, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { isBase64Object, rulesOf, tensorflowRules } from "./json-tensor-rules.ts";
import { mixedKinds, type RowErrors, tensorflowErrors } from "./row-errors.ts";

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
  /** Facts about an input that no spec describes; information for errors. */
  readonly suggested?: ((name: string) => LooseSpec | undefined) | undefined;
  /** True if columns came as rows, which errors are to name. */
  readonly areRows?: boolean;
  /** Default: those of TensorFlow Serving. */
  readonly errors?: RowErrors | undefined;
}

type NamedDType = Pick<TensorSpec, "name" | "dtype" | "default">;

/**
 * The tensors of a list of instances, which has one element at least: each instance is a value of the only input, or an
 * object with a value for each input. All instances of one input have one shape.
 */
export function readInstances(instances: JsonValue, known: KnownInputs, budget: DecodeBudget): Tensors {
  const { specs, unnamed = UNNAMED_INPUT, rules = rulesOf(specs), errors = tensorflowErrors, suggested } = known;
  const isNamed = !(instances instanceof JsonNumbers) && isNamedInstance((instances as JsonList)[0]);
  const reading = { rules, errors, suggested };
  if (isNamed)
    return readNamed(instances as JsonList, specs ?? inferSpecs(instances as JsonList, known, budget), reading);
  if (specs !== undefined && specs.length > 1) {
    throw invalidArgument(
      "instances is a plain list, but expecting list of objects as multiple input tensors required as per tensorinfo_map",
    );
  }
  const { name, dtype } = specs?.[0] ?? { name: unnamed, dtype: dtypeOfValues([instances], unnamed, known) };
  const tensor =
    instances instanceof JsonNumbers
      ? readBlock(instances, dtype, { rules: errors.inValue(name, tensorflowRules, {}), errors })
      : readPlain(instances as JsonList, { name, dtype }, { rules: errors.inValue(name, rules, {}), errors });
  return createTensors([[name, tensor]]);
}

/** Checks that an instance is an object with a value for each input. */
export function isNamedInstance(value: JsonValue | undefined): value is JsonObject {
  return isJsonObject(value) && !isBase64Object(value);
}

/** Rules by which values are read, and the errors of those that cannot be. */
interface Reading extends Pick<KnownInputs, "suggested"> {
  readonly rules: JsonTensorRules;
  readonly errors: RowErrors;
}

/** Instances that are one block of numbers have one shape; only their values may be wrong. */
function readBlock(instances: JsonNumbers, dtype: DType, { rules, errors }: Reading): Tensor {
  const tensor = toNumericTensor(instances, dtype, rules);
  if (tensor !== undefined) return tensor;
  const refuse: JsonTensorRules["refuse"] = (mismatch) => {
    const [row = 0, ...path] = mismatch.path;
    return errors.inRow(row, rules.refuse({ ...mismatch, path, shape: mismatch.shape.slice(1) }));
  };
  return toJsonTensor(instances, dtype, { ...rules, refuse });
}

function readPlain(instances: JsonList, { name, dtype }: NamedDType, { rules, errors }: Reading): Tensor {
  const column = new Column(dtype, { rules, errors });
  for (const [index, instance] of instances.entries()) {
    if (isNamedInstance(instance)) throw errors.namedRow(index, name);
    try {
      column.add(instance);
    } catch (reason) {
      throw errors.inRow(index, reason);
    }
  }
  return column.finish();
}

function readNamed(instances: JsonList, specs: readonly NamedDType[], reading: Reading): Tensors {
  const columns = toColumns(specs, instances[0] as JsonObject, reading);
  for (const [index, instance] of instances.entries()) {
    if (!isNamedInstance(instance)) throw reading.errors.unnamedRow(index, [...columns.keys()]);
    addInstance(columns, instance, { index, errors: reading.errors });
  }
  return createTensors([...columns].map(([name, column]) => [name, column.finish()]));
}

/** An input with a default may be absent, if it is absent in all instances. */
function toColumns(
  specs: readonly NamedDType[],
  first: JsonObject,
  { rules, errors, suggested }: Reading,
): ReadonlyMap<string, Column> {
  const sent = specs.filter((spec) => spec.default === undefined || Object.hasOwn(first, spec.name));
  return new Map(
    sent.map(({ name, dtype }) => {
      const own = errors.inValue(name, rules, { wanted: suggested?.(name)?.dtype });
      return [name, new Column(dtype, { rules: own, errors })];
    }),
  );
}

/** The names that the first instance has; a dtype for all values of each. */
function inferSpecs(instances: JsonList, known: KnownInputs, budget: DecodeBudget): readonly NamedDType[] {
  const names = Object.keys(instances[0] as JsonObject);
  budget.countInputs(names.length);
  return names.map((name) => {
    const values = instances.map((instance) => (isNamedInstance(instance) ? instance[name] : undefined));
    const came = values.filter((value) => value !== undefined);
    const dtype = dtypeOfValues(came, name, known);
    refuseOtherKind(values, { name, dtype }, known);
    return { name, dtype };
  });
}

/**
 * Throws for the first text among values of other kinds, or the other way round, if the first value is one that the
 * model does not take: it would tell what the others have to be. Where its dtype is assumed, both are told. A row that
 * has none is undefined.
 */
function refuseOtherKind(values: readonly MaybeValue[], { name, dtype }: NamedDType, known: KnownInputs): void {
  const { errors = tensorflowErrors, rules = rulesOf(undefined) } = known;
  const { dtype: wanted, isAssumed } = known.suggested?.(name) ?? {};
  if (isAssumed) {
    const isOther = (value: MaybeValue) => typeof value === "boolean" || value instanceof JsonNumbers;
    const rows = [(value: MaybeValue) => typeof value === "string", isOther].map((isOf) => values.findIndex(isOf));
    if (!rows.includes(-1)) throw mixedKinds(name, values, rows);
    return;
  }
  if (wanted === undefined || (wanted === "bytes") === (dtype === "bytes")) return;
  const isWanted = (value: MaybeValue) => (typeof value === "string") === (wanted === "bytes");
  const row = values.findIndex((value) => (value ?? null) !== null && !isWanted(value));
  const value = values[row];
  if (value === undefined || !values.some((each) => (each ?? null) !== null && isWanted(each))) return;
  const mismatch = { kind: "type", path: [], shape: [], value, dtype: wanted } as const;
  throw errors.inRow(row, errors.inValue(name, rules, {}).refuse(mismatch), name);
}

type MaybeValue = JsonValue | undefined;

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
  const { specs, rules = rulesOf(specs), areRows = false, errors = tensorflowErrors, suggested } = known;
  const tensors = createTensors();
  for (const spec of specs ?? inferColumns(columns, known, budget)) {
    const value = columns[spec.name];
    if (value !== undefined) {
      const own = errors.inColumn(spec.name, rules, { areRows, wanted: suggested?.(spec.name)?.dtype });
      tensors[spec.name] = toJsonTensor(value, spec.dtype, own);
    } else if (!("default" in spec)) {
      const names = (specs ?? []).map(({ name }) => name);
      throw errors.missingColumn(spec.name, Object.keys(columns), names);
    }
  }
  return tensors;
}

/** The names that came; a dtype for each one's value. */
function inferColumns(
  columns: JsonObject,
  known: KnownInputs,
  budget: DecodeBudget,
): readonly Pick<TensorSpec, "name" | "dtype">[] {
  const names = Object.keys(columns);
  budget.countInputs(names.length);
  return names.map((name) => {
    const column = columns[name] as JsonValue;
    const dtype = dtypeOfValues([column], name, known);
    if (isJsonList(column)) refuseOtherKind(column, { name, dtype }, known);
    return { name, dtype };
  });
}

function addInstance(
  columns: ReadonlyMap<string, Column>,
  instance: JsonObject,
  { index, errors }: { readonly index: number; readonly errors: RowErrors },
): void {
  const names = Object.keys(instance);
  for (const name of names) {
    const column = columns.get(name);
    if (column === undefined) throw errors.unknownColumn(index, name, [...columns.keys()]);
    try {
      column.add(instance[name] as JsonValue);
    } catch (reason) {
      throw errors.inRow(index, reason, name);
    }
  }
  if (names.length !== columns.size) throw errors.missingValue(index, instance, [...columns.keys()]);
}

/** One input's values of all instances. */
class Column {
  readonly #elements: ElementBuffer;
  readonly #rules: JsonTensorRules;
  readonly #errors: RowErrors;
  #shape: readonly number[] | undefined;
  #count = 0;

  constructor(dtype: DType, { rules, errors }: Reading) {
    this.#elements = new ElementBuffer(dtype, rules);
    this.#rules = rules;
    this.#errors = errors;
  }

  add(value: JsonValue): void {
    const shape = shapeOf(value, this.#rules);
    // The instances are a dimension too.
    if (shape.length === MAX_RANK) throw this.#rules.refuse({ kind: "rank", path: [], shape });
    appendElements(this.#elements, value, { shape, rules: this.#rules });
    this.#shape ??= shape;
    if (!isSameShape(shape, this.#shape)) throw this.#errors.otherShape(shape, this.#shape);
    this.#count++;
  }

  finish(): Tensor {
    return this.#elements.finish([this.#count, ...(this.#shape ?? [])]);
  }
}

function isSameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((dim, index) => dim === b[index]);
}
