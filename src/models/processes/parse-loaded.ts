import { MalformedMessage } from "../../platform/threads/host-port.ts";
import { isDType } from "../../tensor/dtype.ts";
import { isPlainObject } from "../../tensor/record.ts";
import type { UnservedSignature, UnservedTensor } from "../../tensor/signature/signature.ts";
import { isTensor } from "../../tensor/tensor.ts";
import type { ModelFacts } from "../model-facts.ts";

/** Description of a model by the process that has loaded it. */
export interface LoadedModel {
  readonly facts: ModelFacts;
  /** Values for hooks, with markers for functions. */
  readonly hookArgs: unknown;
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
};
const isSpecs = isListOf((value) => hasMembers(value, SPEC));
const isLooseSpecs = isListOf((value) => hasMembers(value, { ...SPEC, dtype: isAbsentOr(SPEC.dtype) }));

const SIGNATURE: Checks<ModelFacts["signatures"][string]> = {
  inputs: isAbsentOr(isSpecs),
  inputNames: isAbsentOr(isListOf(isText)),
  suggestedInputs: isAbsentOr(isLooseSpecs),
  isTabular: isAbsentOr((value) => value === true),
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
  runtime: isAbsentOr(isText),
  isPure: isAbsentOr(isFlag),
  isSteady: isAbsentOr(isFlag),
  runsGraph: isAbsentOr(isFlag),
  likelyInputs: isAbsentOr(isListOf(isSpecs)),
  unserved: isAbsentOr(isRecordOf(UNSERVED)),
  modelInfo: isAbsentOr(isNotes),
  memoryBytes: isAbsentOr(isAmount),
  sharesThread: isAbsentOr(isFlag),
  isolated: isAbsentOr(isFlag),
  loadMs: isAmount,
};

/** Checks the description of a model by its process, which is not trusted; throws {@link MalformedMessage}. */
export function parseLoaded(value: unknown): LoadedModel {
  const { facts, hookArgs } = (value ?? {}) as { readonly [Name in keyof LoadedModel]?: unknown };
  if (hasMembers(facts, FACTS) && isPlainObject(hookArgs)) return { facts: facts as ModelFacts, hookArgs };
  throw new MalformedMessage("it describes no model");
}

/** Checks that a value is an object with such members, and no others. */
function hasMembers(value: unknown, checks: Readonly<Record<string, Check>>): boolean {
  if (!isPlainObject(value) || Object.keys(value).some((name) => !Object.hasOwn(checks, name))) return false;
  return Object.entries(checks).every(([name, check]) => check(value[name]));
}
