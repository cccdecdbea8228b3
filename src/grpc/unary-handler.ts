import type { handleUnaryCall, ServerUnaryCall } from "@grpc/grpc-js";
import type { AccessPolicy } from "../access/access-policy.ts";
import type { CallKind } from "../access/caller.ts";
import { CancelSource } from "../async/cancel-source.ts";
import { type ErrorCode, ServingError } from "../errors.ts";
import type { MemoryShare } from "../limits/memory-budget.ts";
import type { AccessLog } from "../observability/access-log.ts";
import type { Logger } from "../observability/logger.ts";
import type { RequestRecord } from "../observability/request-record.ts";
import type { InferRequest } from "../serving/inference-service.ts";
import { recordOfCall } from "./call-records.ts";
import { type FramedMessage, unframe } from "./framed-message.ts";
import { toGrpcStatus } from "./grpc-errors.ts";
import { takeCallMemory } from "./message-intake.ts";
import { fromMetadata, toMetadata } from "./metadata-record.ts";
import type { OpenCalls } from "./open-calls.ts";
import type { Nesting } from "./payload-start.ts";

/** What every call brings along beside its message. */
type CallInfo = Pick<InferRequest, "id" | "metadata" | "signal" | "deadline" | "memory"> & {
  readonly record: RequestRecord;
};

/** A method over bytes: codecs are called inside it, so that a malformed message gets a status that says what is wrong. `assertMay` throws unless the client may do what only some messages of a method do. */
export type UnaryMethod = (
  message: Uint8Array,
  call: CallInfo,
  assertMay: (kind: CallKind) => void,
) => Promise<UnaryAnswer>;

/** A method of a service. */
export interface UnaryRoute {
  /** Decides who may call it. */
  readonly kind: CallKind;
  readonly method: UnaryMethod;
  /** At which depths the large values of its messages lie; absent = they have none. */
  readonly nesting?: Nesting;
}

/** An encoded message, and metadata to send before it. */
export interface UnaryAnswer {
  readonly message: FramedMessage;
  readonly metadata: Readonly<Record<string, string>>;
}

type ByteCall = ServerUnaryCall<Buffer, Buffer>;
type ByteHandler = handleUnaryCall<Buffer, Buffer>;

/** What the handlers of one server share. */
export interface HandlerContext {
  /** What one request's tensors may take in memory. */
  readonly maxMessageBytes: number;
  readonly log: Logger;
  readonly access: AccessLog;
  readonly openCalls: OpenCalls;
  readonly policy: AccessPolicy;
  /** Every unary method by its path, for who answers calls without grpc-js. */
  readonly routes: Map<string, UnaryRoute>;
}

/** What calls are told that are still under way when the server ends. */
export const SHUTTING_DOWN = new ServingError("unavailable", "The server is shutting down.");

/** Makes a method what grpc-js calls, signal, deadline and metadata in, metadata and status out, and adds it to the methods. */
export function toUnaryHandler(path: string, route: UnaryRoute, context: HandlerContext): ByteHandler {
  const { log, openCalls, routes, policy } = context;
  routes.set(path, route);
  return (call, respond) => {
    const close = openCalls.add(() => respond(toGrpcStatus(SHUTTING_DOWN)));
    const record = recordOfCall(call.metadata);
    record.received(call.request.length);
    runMethod(route, call, { record, policy })
      .then(({ message, metadata }) => {
        if (Object.keys(metadata).length > 0) call.sendMetadata(toMetadata(metadata));
        respond(null, message);
      })
      .catch((reason: unknown) => {
        logFailure(reason, { rpc: path, record }, log);
        respond(toGrpcStatus(reason));
      })
      .finally(close);
  };
}

interface PlainAnswer {
  readonly message: Buffer;
  readonly metadata: UnaryAnswer["metadata"];
}

interface CallRules {
  readonly record: RequestRecord;
  readonly policy: AccessPolicy;
}

async function runMethod(
  { kind, method }: UnaryRoute,
  call: ByteCall,
  { record, policy }: CallRules,
): Promise<PlainAnswer> {
  const source = new CancelSource();
  const deadline = deadlineOf(call);
  const abort = () => source.abort(abortReason(deadline));
  if (call.cancelled) abort();
  call.on("cancelled", abort);
  const memory = takeCallMemory(call.metadata);
  try {
    const metadata = fromMetadata(call.metadata);
    const caller = { address: call.getPeer(), host: call.getHost(), headers: metadata };
    policy.check(kind, caller);
    const info = toCallInfo({ metadata, deadline, record }, source, memory?.share);
    const answer = await method(call.request, info, (asked) => policy.check(asked, caller));
    const message = unframe(answer.message);
    memory?.holdUntilSent(message.length);
    return { message, metadata: answer.metadata };
  } catch (reason) {
    memory?.share.release();
    throw reason;
  } finally {
    // grpc-js says "cancelled" also at the end of a call that went well.
    call.off("cancelled", abort);
  }
}

/** What a client said of its call before its message. */
export interface CallHead {
  readonly metadata: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch; undefined if the client waits for ever. */
  readonly deadline: number | undefined;
}

/** What a method is told of a call. */
export function toCallInfo(
  { metadata, deadline, record }: CallHead & { readonly record: RequestRecord },
  signal: CancelSource,
  memory: MemoryShare | undefined,
): CallInfo {
  return { id: record.id, metadata, signal, deadline, memory, record };
}

/** When a call's client stops waiting, in milliseconds since the epoch; undefined if it waits for ever. */
export function deadlineOf(call: Pick<ByteCall, "getDeadline">): number | undefined {
  const deadline = Number(call.getDeadline());
  return Number.isFinite(deadline) ? deadline : undefined;
}

/** A call may have been so much longer on its way than its cancellation, in milliseconds; and timers may fire early. */
const SLACK_MS = 20;

/** Why a call ends whose client does not wait for the answer: one whose deadline passed may cancel too. */
export function abortReason(deadline: number | undefined): DOMException {
  const isLate = deadline !== undefined && Date.now() >= deadline - SLACK_MS;
  if (isLate) return new DOMException("The request's deadline passed.", "TimeoutError");
  return new DOMException("The client cancelled the request.", "AbortError");
}

/** Codes that are the server's fault, whose cause somebody should read. */
const SERVER_FAULTS: readonly ErrorCode[] = ["internal", "unknown", "data_loss"];

/** A call that failed. */
export interface FailedCall {
  readonly rpc: string;
  readonly record: RequestRecord;
}

/** Writes a failed call to the log. */
export function logFailure(reason: unknown, { rpc, record }: FailedCall, log: Logger): void {
  const { code, message, cause } = ServingError.from(reason);
  record.failedWith = code;
  const about = () => ({ ...record.fields(), rpc, code });
  if (SERVER_FAULTS.includes(code)) log.error("request failed", { ...about(), err: reason });
  else if (code === "unavailable" && cause !== undefined) log.warn("request failed", { ...about(), err: reason });
  else if (log.filter?.writes("debug") !== false) log.debug("request refused", { ...about(), reason: message });
}
