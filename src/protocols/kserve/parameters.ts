import { hintedError } from "../../error-info.ts";
import { invalidArgument, type ServingError } from "../../errors.ts";
import { MAX_TIMER_MS } from "../../platform/limits/call-limits.ts";
import type { CallOptions } from "../../serving/inference-service.ts";

/** The free parameters of a request, an input or an output, by name. */
export type Parameters = ReadonlyMap<string, Parameter>;
/** One value; 64-bit integers of the gRPC wire are bigint. */
export type Parameter = boolean | number | bigint | string;

/** Parameters of a request that has none. */
export const NO_PARAMETERS: Parameters = new Map();

/** Metadata of ours by which a client asks that errors in its stream have their codes: `true`. */
export const ERROR_CODES = "kserving_error_codes";
/** Parameter of such an error. */
export const ERROR_CODE = "kserving_error_code";

/** Microseconds, in which the protocol counts `timeout`, in a millisecond. */
const MICROSECONDS = 1000;

/** The fields of the schedule_policy extension and of ours, as an InferRequest has them. */
export interface Scheduling {
  readonly priority?: number | undefined;
  readonly queueTimeoutMs?: number | undefined;
  readonly signature: string;
}

/**
 * Reads `priority` (1 = highest), `timeout` (microseconds in queues) and `signature_name` (ours, for models that have
 * several); throws `invalid_argument` for values of the wrong type and for names that begin with `triton_`.
 */
export function readScheduling(parameters: Parameters): Scheduling {
  if (parameters.size === 0) return { signature: "" };
  for (const name of parameters.keys()) if (name.startsWith("triton_")) refuseReserved(name);
  const signature = parameters.get("signature_name") ?? "";
  if (typeof signature !== "string") throw wrongType("signature_name", "a string", signature);
  const priority = readUnsigned(parameters, "priority");
  const timeout = readUnsigned(parameters, "timeout");
  const queueTimeoutMs = timeout === undefined ? undefined : Math.min(timeout / MICROSECONDS, MAX_TIMER_MS);
  return { signature, priority, queueTimeoutMs };
}

/** Names of a request's parameters that the protocol reads; those that begin with `triton_` are its own too. */
const OWN = ["signature_name", "priority", "timeout", "typed_outputs", "binary_data_output", "strict_json"];

/** The parameters of a request that are meant for its model and hooks; undefined if there are none. */
export function modelParameters(parameters: Parameters): CallOptions["parameters"] {
  return toRecord([...parameters].filter(([name]) => !isOwn(name)));
}

/** Parameters of any name as a model and its hooks get them; undefined if there are none. */
export function toRecord(given: Iterable<readonly [string, Parameter]>): CallOptions["parameters"] {
  const entries = Array.from(given, ([name, value]) => [name, toNumber(value)] as const);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function isOwn(name: string): boolean {
  return OWN.includes(name) || name.startsWith("triton_");
}

/** A client's 16 is the same number over gRPC as over HTTP. */
function toNumber(value: Parameter): Parameter {
  return typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** A parameter that is an integer of 0 or more, undefined if absent; throws `invalid_argument` for any other value. */
export function readUnsigned(parameters: Parameters, name: string): number | undefined {
  const value = parameters.get(name);
  if (value === undefined) return undefined;
  const number = typeof value === "bigint" ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= 0) return number;
  throw wrongType(name, "an integer of 0 or more", value);
}

/**
 * A parameter that is an integer of 0 or more and of any size, undefined if absent;
 * throws `invalid_argument` for any other value.
 */
export function readInteger(parameters: Parameters, name: string): bigint | undefined {
  const value = parameters.get(name);
  if (value === undefined) return undefined;
  const isInteger = typeof value === "bigint" || Number.isInteger(value);
  if (isInteger && BigInt(value) >= 0n) return BigInt(value);
  throw wrongType(name, "an integer of 0 or more", value);
}

/** A parameter that is true or false, undefined if absent; throws `invalid_argument` for any other value. */
export function readBoolean(parameters: Parameters, name: string): boolean | undefined {
  const value = parameters.get(name);
  if (value === undefined || typeof value === "boolean") return value;
  throw wrongType(name, "true or false", value);
}

/** Parameter by which the end of an answer in parts gets a message; an answer that comes alone is its end. */
export const EMPTY_FINAL = "triton_enable_empty_final_response";

function refuseReserved(name: string): void {
  if (name === EMPTY_FINAL) return;
  throw invalidArgument(
    `parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified; got '${name}'`,
  );
}

function wrongType(name: string, expected: string, came: Parameter): ServingError {
  const shown = typeof came === "string" ? `'${came.slice(0, 40)}'` : String(came);
  const text = `parameter '${name}' is ${shown}; expected ${expected}`;
  return hintedError("invalid_argument", text, { reason: "WRONG_PARAMETER", field: name, expected });
}
