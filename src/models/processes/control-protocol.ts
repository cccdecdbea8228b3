import type { DriverLocation } from "../../drivers/registry.ts";
import { LOG_LEVELS, type LogLevel } from "../../observability/log-filter.ts";
import type { Logger } from "../../observability/logger.ts";
import { threadMemory } from "../../platform/limits/memory/thread-memory.ts";
import { packValues, unpackValues } from "../../platform/threads/call-values.ts";
import type { WireRecord } from "../../platform/threads/frame.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";
import { FIRST_REQUEST } from "../../platform/threads/rpc-client.ts";
import { isDType } from "../../tensor/dtype.ts";
import { isPlainObject } from "../../tensor/record.ts";
import type { UnservedSignature, UnservedTensor } from "../../tensor/signature/signature.ts";
import { isTensor } from "../../tensor/tensor.ts";
import type { ModelFacts } from "../model-facts.ts";
import type { LoadCommand, ModelThreadData } from "../threads/model-thread-messages.ts";

/** The number of a process's only model. */
export const MODEL_ID = 0;

/** The port of a process's own messages; those of its model follow. */
export const CONTROL_PORT = 0;

/** Asks to load the model, with a {@link LoadOrder}. */
export const LOAD = FIRST_REQUEST;
/** Opens the port that is the record's id. */
export const ATTACH = FIRST_REQUEST + 1;
/** Ends a port, from either side. */
export const DETACH = FIRST_REQUEST + 2;
/** Asks to free the model; later the process is asked to end. */
export const UNLOAD = FIRST_REQUEST + 3;
export const END = FIRST_REQUEST + 4;
/** Asks whether work goes on; its meta is the levels that are logged now. */
export const PING = FIRST_REQUEST + 5;

/** The model is loaded; its facts and values for hooks, packed. */
export const LOADED = FIRST_REQUEST + 6;
/** The model could not be loaded, or freed; an error. */
export const FAILED = FIRST_REQUEST + 7;
export const UNLOADED = FIRST_REQUEST + 8;
/** An event of the log, packed. */
export const LOG = FIRST_REQUEST + 9;
/** Answers a {@link PING}; the id is a count that grows while work goes on. */
export const PONG = FIRST_REQUEST + 10;

/** Bits of a count that a record's id carries. */
export const COUNT_MASK = 0x3fffffff;

/** The model that a process is to load, and what it needs to know of the server. */
export interface LoadOrder {
  readonly driver: DriverLocation;
  readonly command: LoadCommand;
  readonly levels: readonly LogLevel[];
  /** Memory that images may take while they are decoded, in bytes; absent = any. */
  readonly imageBytes?: number;
}

/** The order to load a model in a process, as plain data. */
export function toLoadOrder(data: ModelThreadData, log: Logger): LoadOrder {
  const { driver, name, path, options, threads, hookFolder } = data;
  const { limitBytes } = threadMemory;
  return {
    driver,
    command: { id: MODEL_ID, name, path, options, threads, ...(hookFolder !== undefined && { hookFolder }) },
    levels: writtenLevels(log),
    ...(Number.isFinite(limitBytes) && { imageBytes: limitBytes }),
  };
}

/** The levels that a log writes at the moment. */
export function writtenLevels({ level, filter }: Logger): readonly LogLevel[] {
  if (filter === undefined) return LOG_LEVELS.slice(LOG_LEVELS.indexOf(level));
  return LOG_LEVELS.filter((each) => each !== "silent" && filter.writes(each));
}

/** A record of a process's own port that carries a plain value, tensors included. */
export function packRecord(kind: number, value: unknown): WireRecord {
  const { json, tensors } = packValues(value);
  return { kind, id: 0, meta: json, tensors };
}

/** The value that was packed; throws {@link MalformedMessage} for one that was not packed so. */
export function unpackRecord({ meta, tensors }: WireRecord): unknown {
  try {
    return unpackValues({ json: meta, tensors: tensors ?? {} });
  } catch (cause) {
    throw new MalformedMessage("its values are not packed as they should be", { cause });
  }
}

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
