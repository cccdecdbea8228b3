import type { Model, PartsModel } from "../drivers/driver.ts";
import { isDType } from "../tensor/dtype.ts";
import { isPlainObject } from "../tensor/record.ts";
import {
  defaultSignatureName,
  type Signature,
  type UnservedSignature,
  type UnservedTensor,
} from "../tensor/signature/signature.ts";
import { isTensor } from "../tensor/tensor.ts";

/** Facts that a driver states with a model, or leaves out. */
const STATED_FACTS = [
  "runtime",
  "isPure",
  "isSteady",
  "keepsThread",
  "likelyInputs",
  "unserved",
  "modelInfo",
  "memoryBytes",
] as const satisfies readonly (keyof Model)[];

/**
 * Facts about a loaded model, as plain data that is handed on whole, between threads and to everything that asks about
 * a version: who adds one says here what it is, who states it, and what a process may send for it.
 */
export interface ModelFacts extends Pick<Model, (typeof STATED_FACTS)[number]> {
  /** The driver's name. */
  readonly driver: string;
  readonly path: string;
  readonly signatures: Readonly<Record<string, Signature>>;
  /** The signature that runs if none is asked for. */
  readonly defaultSignature: string;
  /** True for a model that returns its inputs whatever they are, so that they need not become tensors first. */
  readonly echoes: boolean;
  /** Rows of one run at most, put together from waiting requests; absent = each runs alone. */
  readonly maxBatchSize?: number;
  /** True if waiting requests are put together though no option asks for it. */
  readonly joinsRequests?: boolean;
  /** True if parts of its graph can be run by the names of tensors. */
  readonly runsGraph?: boolean;
  /** True if it answers in parts; absent = it answers once. */
  readonly decoupled?: boolean;
  /** True if other models may share its thread. */
  readonly sharesThread?: boolean;
  /** True if it runs in its own process, which may crash alone. */
  readonly isolated?: boolean;
  /** Milliseconds that loading took. */
  readonly loadMs: number;
}

/** Checks if waiting requests are put together for a run of the model. */
export function isBatched(facts: Pick<ModelFacts, "maxBatchSize" | "joinsRequests">): boolean {
  return facts.joinsRequests === true || (facts.maxBatchSize ?? 0) > 0;
}

/** Facts that the server knows of a model, besides those that its driver states. */
interface KnownFacts extends Pick<ModelFacts, "driver" | "path" | "loadMs" | "signatures"> {
  /** Absent = each request runs alone. */
  readonly batching?: { readonly maxRows: number; readonly isImplied?: boolean } | undefined;
}

/** The facts about a model that its driver has loaded. */
export function toModelFacts(model: Model | PartsModel, { batching, ...known }: KnownFacts): ModelFacts {
  const stated = STATED_FACTS.filter((name) => model[name] !== undefined).map((name) => [name, model[name]]);
  return {
    ...known,
    defaultSignature: defaultSignatureName(model.signatures),
    echoes: model.echoes ?? false,
    ...(batching !== undefined && (batching.isImplied ? { joinsRequests: true } : { maxBatchSize: batching.maxRows })),
    ...Object.fromEntries(stated),
    ...(model.runGraph !== undefined && { runsGraph: true }),
    ...(model.predictStream !== undefined && { decoupled: true }),
  };
}

type Check = (value: unknown) => boolean;
type Checks<Type> = { readonly [Name in keyof Required<Type>]: Check };

const isText: Check = (value) => typeof value === "string";
const isFlag: Check = (value) => typeof value === "boolean";
const isAmount: Check = (value) => Number.isFinite(value) && (value as number) >= 0;
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const isAbsentOr =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

const isSize: Check = (value) => Number.isSafeInteger(value) && (value as number) >= -1;
const isRange: Check = (value) => hasMembers(value, { min: isSize, max: isSize });

const SPEC: Checks<NonNullable<ModelFacts["signatures"][string]["inputs"]>[number]> = {
  name: isText,
  dtype: (value) => isText(value) && isDType(value as string),
  shape: isAbsentOr(isListOf((value) => isSize(value) || isRange(value))),
  default: isAbsentOr(isTensor),
  nativeName: isAbsentOr(isText),
  declaredDType: isAbsentOr((value) => isText(value) && isDType(value as string)),
  imageLayout: isAbsentOr((value) => value === "NHWC" || value === "NCHW"),
  refusesImages: isAbsentOr((value) => value === true),
  convertsNumbers: isAbsentOr((value) => value === true),
  labels: isAbsentOr(isListOf(isText)),
  features: isAbsentOr(isListOf(isText)),
  categories: isAbsentOr(isListOf((value) => isText(value) || Number.isFinite(value))),
  example: isAbsentOr((value) => isText(value) || Number.isFinite(value)),
};
const isSpecs = isListOf((value) => hasMembers(value, SPEC));
const LOOSE_SPEC = { ...SPEC, dtype: isAbsentOr(SPEC.dtype), isAssumed: isAbsentOr((value) => value === true) };
const isLooseSpecs = isListOf((value) => hasMembers(value, LOOSE_SPEC));

const SIGNATURE: Checks<ModelFacts["signatures"][string]> = {
  inputs: isAbsentOr(isSpecs),
  inputNames: isAbsentOr(isListOf(isText)),
  suggestedInputs: isAbsentOr(isLooseSpecs),
  modelInputs: isAbsentOr(isSpecs),
  isTabular: isAbsentOr((value) => value === true),
  byInputs: isAbsentOr((value) => value === true),
  outputs: isAbsentOr(isSpecs),
  method: isAbsentOr((value) => value === "predict" || value === "classify" || value === "regress"),
  methodName: isAbsentOr(isText),
};
const UNSERVED_TENSOR: Checks<UnservedTensor> = {
  name: SPEC.name,
  shape: SPEC.shape,
  nativeName: SPEC.nativeName,
  dataType: isAmount,
};
const isUnservedTensors = isListOf((value) => hasMembers(value, UNSERVED_TENSOR));
const UNSERVED: Checks<UnservedSignature> = {
  inputs: isUnservedTensors,
  outputs: isUnservedTensors,
  methodName: isText,
};
const isRecordOf =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isPlainObject(value) && Object.values(value).every((each) => hasMembers(each, checks));

const isNotes: Check = (value) =>
  isPlainObject(value) && Object.values(value).every((each) => isText(each) || isNotes(each));

const FACTS: Checks<ModelFacts> = {
  driver: isText,
  path: isText,
  signatures: isRecordOf(SIGNATURE),
  defaultSignature: isText,
  echoes: isFlag,
  maxBatchSize: isAbsentOr(isAmount),
  joinsRequests: isAbsentOr(isFlag),
  runtime: isAbsentOr(isText),
  isPure: isAbsentOr(isFlag),
  isSteady: isAbsentOr(isFlag),
  keepsThread: isAbsentOr(isFlag),
  runsGraph: isAbsentOr(isFlag),
  decoupled: isAbsentOr(isFlag),
  likelyInputs: isAbsentOr(isListOf(isSpecs)),
  unserved: isAbsentOr(isRecordOf(UNSERVED)),
  modelInfo: isAbsentOr(isNotes),
  memoryBytes: isAbsentOr(isAmount),
  sharesThread: isAbsentOr(isFlag),
  isolated: isAbsentOr(isFlag),
  loadMs: isAmount,
};

/** Checks that a value from a process, which is not trusted, is a model's facts and nothing else. */
export function areModelFacts(value: unknown): value is ModelFacts {
  return hasMembers(value, FACTS);
}

/** Checks that a value is an object with such members, and no others. */
function hasMembers(value: unknown, checks: Readonly<Record<string, Check>>): boolean {
  if (!isPlainObject(value) || Object.keys(value).some((name) => !Object.hasOwn(checks, name))) return false;
  return Object.entries(checks).every(([name, check]) => check(value[name]));
}
