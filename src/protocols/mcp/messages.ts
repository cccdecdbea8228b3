import { ServingError } from "../../errors.ts";
import { defineJob, type Job } from "../../platform/codec-host/job.ts";
import { LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { parseJson } from "../../tensor/codecs/json/json-reader.ts";
import {
  isJsonList,
  isJsonObject,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
} from "../../tensor/codecs/json/json-value.ts";
import { toPlainSignature } from "../../tensor/signature/choose-signature.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import { readArguments } from "./tools.ts";

/** Codes of JSON-RPC 2.0 (§5.1), and of MCP's revision 2026-07-28. */
export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** Of a server: it is refused before its message was looked at. */
  refused: -32000,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

/** The id of a request, and what its notifications are known by. */
export type MessageId = string | number;

/** Facts that a request tells of itself in `params._meta`, from the revision 2026-07-28 on. */
interface Envelope {
  readonly version: string | undefined;
  readonly hasCapabilities: boolean;
}

/** A message of JSON-RPC, as far as it is understood: plain data, without a tool's arguments. */
export interface Message {
  /** Absent = it wants no answer. */
  readonly id?: MessageId;
  /** Absent = it is an answer, and the server has asked nothing. */
  readonly method?: string;
  /** `params.name`. */
  readonly name?: string;
  /** `params.cursor`; null = it is no text. */
  readonly cursor?: string | null;
  /** `params.protocolVersion`. */
  readonly version?: string;
  /** `params.requestId`. */
  readonly requestId?: MessageId;
  readonly progressToken?: MessageId;
  readonly envelope?: Envelope;
  /** The reason why it is no message; present = nothing else counts but `id`. */
  readonly fault?: string;
}

/** The messages of a body, as they cross threads. */
interface HeadMessages {
  readonly messages: readonly Message[];
  /** True if they came as a list. */
  readonly isBatch: boolean;
}

/** The messages of a body, and the arguments in it. */
export interface Received extends HeadMessages {
  /** The arguments of one message as tensors. Throws `invalid_argument` for those that do not fit. */
  readonly argumentsOf: (index: number, signature: Signature) => Tensors | Promise<Tensors>;
}

/** Messages of a list at most: each may run a model. */
const MAX_MESSAGES = 64;

/** Means by which large bodies are read in a codec thread, to which their memory is transferred. */
type Decode = <Args extends readonly unknown[], Result>(
  job: Job<Args, Result>,
  args: Args,
  body: Uint8Array,
) => Promise<Result>;

/**
 * Reads a body, in a codec thread if it is large. Throws {@link RpcError} for a list that is, or has too many messages,
 * and for a body that is not JSON.
 */
export async function readMessages(body: Uint8Array, maxBytes: number, decode: Decode): Promise<Received> {
  try {
    return body.length <= LARGE_MESSAGE_BYTES ? readHere(body, maxBytes) : await readInThread(body, maxBytes, decode);
  } catch (reason) {
    const { code, message } = ServingError.from(reason);
    throw code === "invalid_argument" ? new RpcError(RPC.parseError, message) : reason;
  }
}

function readHere(body: Uint8Array, maxBytes: number): Received {
  const budget = new DecodeBudget(maxBytes);
  const roots = readRoots(body, budget);
  const { length } = roots.list;
  if (length > MAX_MESSAGES)
    throw invalidRequest(`The body is a list of ${length} messages; expected ${MAX_MESSAGES} at most.`);
  return {
    ...toHead(roots),
    argumentsOf: (index, signature) => readArguments(argumentsAt(roots.list[index]), signature, budget),
  };
}

async function readInThread(body: Uint8Array, maxBytes: number, decode: Decode): Promise<Received> {
  const { body: same, ...head } = await decode(readHeadJob, [body, maxBytes], body);
  if (head.isBatch)
    throw invalidRequest(`A list of messages has ${same.length} bytes; expected ${LARGE_MESSAGE_BYTES} at most.`);
  return {
    ...head,
    argumentsOf: (index, signature) =>
      decode(argumentsOfJob, [same, index, toPlainSignature(signature), maxBytes], same),
  };
}

function invalidRequest(message: string): RpcError {
  return new RpcError(RPC.invalidRequest, message);
}

/** Reads a large body in a codec thread, which gives it back; of a list nothing else. */
function readHead(body: Uint8Array, maxBytes: number): HeadMessages & { readonly body: Uint8Array } {
  const { list, isBatch } = readRoots(body, new DecodeBudget(maxBytes));
  return { ...toHead({ list: isBatch ? [] : list, isBatch }), body };
}

/** {@link readHead} for a codec thread, which finds it by its name. @public */
export const readHeadJob = defineJob(import.meta.url, "readHeadJob", readHead);

function argumentsOf(body: Uint8Array, index: number, signature: Signature, maxBytes: number): Tensors {
  const budget = new DecodeBudget(maxBytes);
  return readArguments(argumentsAt(readRoots(body, budget).list[index]), signature, budget);
}

/** {@link Received.argumentsOf} for a codec thread, which finds it by its name. @public */
export const argumentsOfJob = defineJob(import.meta.url, "argumentsOfJob", argumentsOf);

interface Roots {
  readonly list: readonly JsonValue[];
  readonly isBatch: boolean;
}

function readRoots(body: Uint8Array, budget: DecodeBudget): Roots {
  const root = parseJson(body, budget);
  return isJsonList(root) ? { list: root, isBatch: true } : { list: [root], isBatch: false };
}

function toHead({ list, isBatch }: Roots): HeadMessages {
  return { messages: list.map(toMessage), isBatch };
}

function argumentsAt(root: JsonValue | undefined): JsonValue {
  const params = isJsonObject(root) ? root.params : undefined;
  return (isJsonObject(params) ? params.arguments : undefined) ?? {};
}

function toMessage(root: JsonValue): Message {
  if (!isJsonObject(root)) return { fault: "expected an object" };
  const { jsonrpc, id: givenId, method, params } = root;
  const id = toId(givenId);
  const known = id === undefined ? {} : { id };
  if (jsonrpc !== "2.0") return { ...known, fault: 'jsonrpc is not "2.0"' };
  // Null is a result, too.
  if (isAbsent(method) && (root.result !== undefined || !isAbsent(root.error))) return {};
  // Libraries that write every member write that of a notification, too.
  const isNotification = givenId === null && typeof method === "string" && method.startsWith("notifications/");
  if (givenId !== undefined && id === undefined && !isNotification)
    return { fault: "id is neither a text nor a number" };
  if (typeof method !== "string") return { ...known, fault: "method is no text" };
  if (!isAbsent(params) && !isJsonObject(params)) return { ...known, fault: "params is no object" };
  return { ...known, method, ...toParams(params ?? {}) };
}

/** A member that may be left out may be null. */
function isAbsent(value: JsonValue | undefined): value is null | undefined {
  return value === undefined || value === null;
}

function toParams({ name, cursor, protocolVersion, requestId, _meta: meta }: JsonObject): Message {
  const cancelled = toId(requestId);
  return {
    ...(typeof name === "string" && { name }),
    ...(!isAbsent(cursor) && { cursor: typeof cursor === "string" ? cursor : null }),
    ...(typeof protocolVersion === "string" && { version: protocolVersion }),
    ...(cancelled !== undefined && { requestId: cancelled }),
    ...(isJsonObject(meta) && toMeta(meta)),
  };
}

/** Begins the names of what a request says of itself. */
const PREFIX = "io.modelcontextprotocol/";

function toMeta(meta: JsonObject): Message {
  const progressToken = toId(meta.progressToken);
  const version = meta[`${PREFIX}protocolVersion`];
  const hasCapabilities = isJsonObject(meta[`${PREFIX}clientCapabilities`]);
  return {
    ...(progressToken !== undefined && { progressToken }),
    ...((!isAbsent(version) || hasCapabilities) && {
      envelope: { version: typeof version === "string" ? version : undefined, hasCapabilities },
    }),
  };
}

/** A number that a double does not hold would come back as another one. */
function toId(value: JsonValue | undefined): MessageId | undefined {
  if (typeof value === "string") return value;
  const number = value instanceof JsonNumbers && value.shape.length === 0 ? value.at(0) : undefined;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** The members of a result; those of `written` are JSON already, in pieces. */
export interface RpcResult {
  readonly members: object;
  readonly written?: Readonly<Record<string, readonly Uint8Array[]>> | undefined;
}

/** An answer's text: of a result, or of an error. */
export function writeResult(id: MessageId, { members, written = {} }: RpcResult): Buffer {
  const text = JSON.stringify({ jsonrpc: "2.0", id, result: members });
  let separator = Object.keys(members).length === 0 ? "" : ",";
  const pieces: Uint8Array[] = [Buffer.from(text.slice(0, -2))];
  for (const [name, value] of Object.entries(written)) {
    pieces.push(Buffer.from(`${separator}"${name}":`), ...value);
    separator = ",";
  }
  return Buffer.concat([...pieces, Buffer.from("}}")]);
}

/** An error of the protocol. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: object | undefined;

  constructor(code: number, message: string, data?: object) {
    super(message);
    this.code = code;
    this.data = data;
  }

  /** The answer to a request; null = it is not known which. */
  toBody(id: MessageId | null): object {
    const { code, message, data } = this;
    return { jsonrpc: "2.0", id, error: { code, message, ...(data && { data }) } };
  }
}

/** The text of a notification. */
export function writeNotification(method: string, params: object): Buffer {
  return Buffer.from(JSON.stringify({ jsonrpc: "2.0", method, params }));
}
