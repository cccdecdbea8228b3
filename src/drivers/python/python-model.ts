import { invalidArgument, ServingError } from "../../errors.ts";
import { RunLimit } from "../../platform/native/cancellable-runs.ts";
import { toTensor } from "../../tensor/plain-value.ts";
import { isPlainObject } from "../../tensor/record.ts";
import {
  DEFAULT_SIGNATURE,
  type LooseSpec,
  type Signature,
  type TensorSpec,
} from "../../tensor/signature/signature.ts";
import { createTensors, isTensor, type Tensors } from "../../tensor/tensor.ts";
import type { Model, PartsModel, PredictCall } from "../driver.ts";
import type { PythonRequest } from "./conversation.ts";
import { SLOTS } from "./python-process.ts";
import type { SupervisedProcess } from "./supervised-process.ts";

/** Facts that Python reports of a model that it has loaded. */
export interface LoadedFacts {
  readonly signature: {
    readonly inputs: readonly LooseSpec[] | null;
    readonly outputs: readonly LooseSpec[] | null;
    /** See {@link Signature.suggestedInputs}. */
    readonly suggested: readonly LooseSpec[] | null;
    /** See {@link Model.likelyInputs}. */
    readonly likely: readonly (readonly TensorSpec[])[];
    readonly isPure: boolean;
    /** See {@link Signature.isTabular}. */
    readonly isTabular: boolean;
  };
  readonly facts: Readonly<Record<string, unknown>>;
  /** The interpreter. */
  readonly python: string;
  /** True if the model answers in parts. */
  readonly inParts: boolean;
  /** True if it also has an answer for requests that take only one. */
  readonly atOnce: boolean;
}

/** Answers in parts that are under way in one process at most: they take turns, a part each. */
const STREAMS = 64;

/** The handle of hooks for an object of Python: its methods by name, `encoder.forward` included. */
interface ObjectHandle {
  /** Calls a method with tensors and plain data; returns its result in the same form. */
  call(method: string, args?: readonly unknown[]): Promise<unknown>;
}

/** A model in one or several Python processes; a request is sent to the least busy one. */
export function createPythonModel(
  driver: string,
  processes: readonly SupervisedProcess[],
  loaded: LoadedFacts,
): Model | PartsModel {
  const { inParts, atOnce } = loaded;
  const { inputs, suggested, outputs, likely, isPure } = loaded.signature;
  const names = (specs: readonly LooseSpec[] | null) => specs?.map(({ name }) => name) ?? [];
  // Runs that were given up go on, and keep their places: others do not wait behind them in the process.
  const places = new RunLimit(SLOTS * processes.length);
  const handle = (target: string): ObjectHandle => ({
    call: (method, args = []) => callMethod(leastLoaded(processes), { target, method, args }),
  });
  const common = {
    signatures: { [DEFAULT_SIGNATURE]: toSignature(loaded) },
    isPure,
    likelyInputs: likely.map((list) => list.map(toSpec)),
    concurrency: (inParts ? STREAMS : SLOTS) * processes.length,
    copiesInputs: true,
    hookArgs: {
      driver,
      model: handle("model"),
      model_class: handle("model_class"),
      model_inputs: Object.fromEntries((inputs ?? suggested ?? []).map(({ name, shape }) => [name, shape ?? null])),
      model_outputs: names(outputs),
    },
    processIds: () => processes.flatMap(({ pid }) => pid ?? []),
    isReady: () => processes.some(({ isReady }) => isReady),
    close: async () => {
      await Promise.all(processes.map((process) => process.close()));
    },
  } satisfies Partial<Model>;
  const atOneGo: Pick<Model, "predict"> = { predict: (tensors, call) => predict({ processes, places }, tensors, call) };
  if (!inParts) return { ...common, ...atOneGo };
  const predictStream: PartsModel["predictStream"] = (tensors, call) => predictParts(processes, tensors, call);
  return { ...common, ...(atOnce && atOneGo), predictStream };
}

async function* predictParts(
  processes: readonly SupervisedProcess[],
  tensors: Tensors,
  call: PredictCall,
): AsyncGenerator<Tensors, void, undefined> {
  const { signal } = call;
  if (signal.aborted) throw ServingError.from(signal.reason);
  const request = { op: "open", tensors, ...wishesOf(call) } as const;
  for await (const part of leastLoaded(processes).askParts(request, signal)) yield part.tensors;
}

/** Members of a request besides its inputs. */
interface Wishes extends Pick<PythonRequest, "deadline"> {
  readonly outputs?: readonly string[];
}

function wishesOf({ outputs, deadlineMs }: PredictCall): Wishes {
  const deadline = deadlineMs === undefined ? undefined : Date.now() + deadlineMs;
  return { deadline, ...(outputs && { outputs }) };
}

interface PredictPlaces {
  readonly processes: readonly SupervisedProcess[];
  readonly places: RunLimit;
}

async function predict({ processes, places }: PredictPlaces, tensors: Tensors, call: PredictCall): Promise<Tensors> {
  const { signal } = call;
  if (signal.aborted) throw ServingError.from(signal.reason);
  const wishes = wishesOf(call);
  const ask = async () => {
    if (signal.aborted) throw ServingError.from(signal.reason);
    return leastLoaded(processes).ask({ op: "predict", tensors, ...wishes });
  };
  return (await untilAborted(places.run(ask, signal), signal)).tensors;
}

async function callMethod(
  process: SupervisedProcess,
  { target, method, args }: { target: string; method: string; args: readonly unknown[] },
): Promise<unknown> {
  const { json, tensors } = packArguments(args);
  const answer = await process.ask({ op: "call", target, method, args: json, tensors });
  return unpackResult(answer.result, answer.tensors);
}

function leastLoaded(processes: readonly SupervisedProcess[]): SupervisedProcess {
  return processes.reduce((best, each) => (each.load < best.load ? each : best));
}

/** The process continues without a caller: Python cannot be interrupted within a model. */
function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(ServingError.from(signal.reason));
    const forget = () => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort, { once: true });
    work.finally(forget).then(resolve, reject);
  });
}

/** Without the dtypes of the inputs, the server knows only their names, which Python checks. */
function toSignature({ signature: { inputs, outputs, suggested, isTabular } }: LoadedFacts): Signature {
  const isKnown = (specs: readonly LooseSpec[] | null): specs is readonly (LooseSpec & TensorSpec)[] =>
    specs?.every(({ dtype }) => dtype !== undefined) ?? false;
  return {
    ...(isKnown(inputs) ? { inputs: inputs.map(toSpec) } : { ...namesOf(inputs), ...suggest(inputs ?? suggested) }),
    ...(isTabular && { isTabular }),
    ...(isKnown(outputs) && { outputs: outputs.map(toSpec) }),
  };
}

function namesOf(specs: readonly LooseSpec[] | null): Signature {
  return specs === null ? {} : { inputNames: specs.map(({ name }) => name) };
}

function suggest(specs: readonly LooseSpec[] | null): Signature {
  return specs === null ? {} : { suggestedInputs: specs.map(withoutNulls) };
}

function withoutNulls({ name, dtype, isAssumed, shape, features, categories, example }: LooseSpec): LooseSpec {
  return {
    name,
    ...(dtype != null && { dtype }),
    ...(isAssumed === true && { isAssumed }),
    ...(shape != null && { shape }),
    ...(features != null && { features }),
    ...(categories != null && categories.length > 0 && { categories }),
    ...(example != null && { example }),
  };
}

function toSpec({ name, dtype, shape }: TensorSpec): TensorSpec {
  return shape == null ? { name, dtype } : { name, dtype, shape };
}

/** Mark in JSON for a tensor that is sent next to it. */
interface Marker {
  readonly $tensor: string;
}

/**
 * Arguments of a Python method as JSON, and the tensors and typed arrays apart from it; throws `invalid_argument` for
 * values without a Python equivalent.
 */
export function packArguments(args: readonly unknown[]): { readonly json: unknown; readonly tensors: Tensors } {
  const tensors = createTensors();
  let count = 0;
  const pack = (value: unknown): unknown => {
    if (isTensor(value) || ArrayBuffer.isView(value)) {
      const name = String(count++);
      tensors[name] = isTensor(value) ? value : toTensor(value, "argument");
      return { $tensor: name } satisfies Marker;
    }
    if (Array.isArray(value)) return value.map(pack);
    if (isPlainObject(value)) return mapMembers(value, pack);
    if (isJson(value)) return value ?? null;
    const what = typeof value === "number" ? String(value) : `a ${typeof value}`;
    throw invalidArgument(`An argument is ${what}; expected tensors and plain data, with finite numbers.`);
  };
  return { json: args.map(pack), tensors };
}

/** The value that a Python method returned. */
export function unpackResult(json: unknown, tensors: Tensors): unknown {
  if (Array.isArray(json)) return json.map((each) => unpackResult(each, tensors));
  if (typeof json !== "object" || json === null) return json;
  const { $tensor } = json as Partial<Marker>;
  return $tensor === undefined ? mapMembers(json, (each) => unpackResult(each, tensors)) : tensors[$tensor];
}

/** JSON would make null of a number that is none. */
function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return value === undefined || value === null || ["string", "boolean"].includes(typeof value);
}

function mapMembers(value: object, change: (member: unknown) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member)]));
}
