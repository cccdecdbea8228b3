import { type ErrorCode, ServingError } from "../errors.ts";
import { isObject } from "../tensor/record.ts";
import type { Tensors } from "../tensor/tensor.ts";
import type { CallError } from "./call-error.ts";

/** The name of a model, and a version of it. */
export interface ModelName {
  readonly model: string;
  /** Absent = the server's choice. */
  readonly version?: string;
}

/** A request with all that its caller has chosen. */
export interface ModelRequest extends ModelName {
  readonly id: string;
  readonly inputs: Tensors;
  /** Names of the wanted outputs; empty = all. */
  readonly outputs: readonly string[];
  readonly parameters: Readonly<Record<string, string | number | boolean>>;
}

/** The answer of a model. */
export interface ModelAnswer {
  readonly model: string;
  readonly version: string;
  readonly outputs: Tensors;
  /** Headers, or gRPC's metadata, by lower-case name. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** An answer in a stream, with the place of its request; or the error of that request. */
export type StreamAnswer =
  | {
      readonly id: string;
      readonly outputs: Tensors;
      /** True if the request has no further answers; undefined = the server does not say. */
      readonly isFinal?: boolean | undefined;
      readonly error?: undefined;
    }
  | { readonly id: string; readonly outputs?: undefined; readonly isFinal?: undefined; readonly error: CallError };

/** An input or output as KServe V2 describes it. */
export interface DescribedTensor {
  readonly name: string;
  readonly datatype: string;
  /** -1 = any size. */
  readonly shape: readonly number[];
  /** Values that an input's elements have, as far as the model knows them; servers of ours tell them. */
  readonly categories?: readonly (string | number)[];
  /** A value that an element may have, where the model has an example; servers of ours tell it. */
  readonly example?: string | number;
}

/** The values that an input's parameters tell of, over HTTP or gRPC; nothing if there are none. */
export function valuesIn(parameters: unknown): Pick<DescribedTensor, "categories" | "example"> {
  const { categories, example } = isObject(parameters) ? parameters : {};
  const [list, value] = [parsed(categories), parsed(example)];
  return {
    ...(Array.isArray(list) && list.every(isElement) && { categories: list }),
    ...(isElement(value) && { example: value }),
  };
}

function parsed(parameter: unknown): unknown {
  const text = isObject(parameter) ? parameter.string_param : parameter;
  try {
    return typeof text === "string" ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

function isElement(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

/** A model as KServe V2 describes it. */
export interface ModelMetadata {
  readonly name: string;
  readonly versions?: readonly string[];
  readonly platform?: string;
  readonly inputs?: readonly DescribedTensor[];
  readonly outputs?: readonly DescribedTensor[];
}

/** Limits of one call, and the metadata that are sent with it. */
export interface TransportCall {
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly deadline?: number | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}

/** KServe V2 over one kind of connection. Every failure is a {@link CallError}. */
export interface Transport {
  readonly address: string;
  infer(request: ModelRequest, call: TransportCall): Promise<ModelAnswer>;
  /** The parts of an answer as they come; one that is not in parts is the only one. A reader that stops ends it. */
  parts(request: ModelRequest, call: TransportCall): AsyncGenerator<Tensors, void, undefined>;
  /** Answers as the server sends them; absent if the transport has no streams. */
  stream?(requests: AsyncIterable<ModelRequest>, call: TransportCall): AsyncIterable<StreamAnswer>;
  describe(name: ModelName, call: TransportCall): Promise<ModelMetadata>;
  /** True if the model answers in parts; false of a server that does not say. */
  isDecoupled(name: ModelName, call: TransportCall): Promise<boolean>;
  /** Names of the models. */
  list(call: TransportCall): Promise<readonly string[]>;
  isReady(name: ModelName | undefined, call: TransportCall): Promise<boolean>;
  close(): void;
}

/** Codes of answers after which {@link ModelMetadata} that was kept may be wrong. */
export const CODES_OF_CHANGES: ReadonlySet<ErrorCode> = new Set([
  "invalid_argument",
  "not_found",
  "failed_precondition",
  // Not all streams tell a code.
  "unknown",
]);

/** A model's configuration as Triton describes it. */
interface ModelConfig {
  readonly model_transaction_policy?: { readonly decoupled?: boolean } | null;
}

/** Codes of servers that have no configurations, or do not show them to this client. */
const CODES_OF_LACK: ReadonlySet<ErrorCode> = new Set([
  "not_found",
  "unimplemented",
  "invalid_argument",
  "permission_denied",
]);

/** Reads from a configuration whether its model answers in parts. */
export async function readDecoupled(asked: Promise<unknown>): Promise<boolean> {
  try {
    return ((await asked) as ModelConfig | null)?.model_transaction_policy?.decoupled === true;
  } catch (reason) {
    if (CODES_OF_LACK.has(ServingError.from(reason).code)) return false;
    throw reason;
  }
}
