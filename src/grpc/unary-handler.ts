import { randomUUID } from "node:crypto";
import type { handleUnaryCall, ServerUnaryCall } from "@grpc/grpc-js";
import { type ErrorCode, ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { InferRequest } from "../serving/inference-service.ts";
import { toGrpcStatus } from "./grpc-errors.ts";
import { fromMetadata, toMetadata } from "./metadata-record.ts";
import type { OpenCalls } from "./open-calls.ts";

/** What every call brings along beside its message. */
type CallInfo = Pick<InferRequest, "id" | "metadata" | "signal" | "deadline">;

/** A method over bytes: codecs are called inside it, so that a malformed message gets a status that says what is wrong. */
export type UnaryMethod = (message: Uint8Array, call: CallInfo) => Promise<UnaryAnswer>;

/** An encoded message, and metadata to send before it. */
interface UnaryAnswer {
  readonly message: Buffer;
  readonly metadata: Readonly<Record<string, string>>;
}

type ByteCall = ServerUnaryCall<Buffer, Buffer>;
type ByteHandler = handleUnaryCall<Buffer, Buffer>;

/** What the handlers of one server share. */
export interface HandlerContext {
  readonly log: Logger;
  readonly openCalls: OpenCalls;
}

const SHUTTING_DOWN = new ServingError("unavailable", "The server is shutting down.");

/** Makes a method what grpc-js calls: signal, deadline and metadata in, metadata and status out. */
export function toUnaryHandler(method: UnaryMethod, { log, openCalls }: HandlerContext): ByteHandler {
  return (call, respond) => {
    const close = openCalls.add(() => respond(toGrpcStatus(SHUTTING_DOWN)));
    runMethod(method, call)
      .then(({ message, metadata }) => {
        if (Object.keys(metadata).length > 0) call.sendMetadata(toMetadata(metadata));
        respond(null, message);
      })
      .catch((reason: unknown) => {
        logFailure(reason, call, log);
        respond(toGrpcStatus(reason));
      })
      .finally(close);
  };
}

async function runMethod(method: UnaryMethod, call: ByteCall): Promise<UnaryAnswer> {
  const controller = new AbortController();
  const deadline = deadlineOf(call);
  const abort = () => controller.abort(abortReason(deadline));
  if (call.cancelled) abort();
  call.on("cancelled", abort);
  const metadata = fromMetadata(call.metadata);
  const id = metadata["x-request-id"] ?? randomUUID();
  try {
    return await method(call.request, {
      id,
      metadata,
      signal: controller.signal,
      ...(deadline !== undefined && { deadline }),
    });
  } finally {
    // grpc-js says "cancelled" also at the end of a call that went well.
    call.off("cancelled", abort);
  }
}

/** Milliseconds since the epoch; undefined if the client waits for ever. */
function deadlineOf(call: ByteCall): number | undefined {
  const deadline = Number(call.getDeadline());
  return Number.isFinite(deadline) ? deadline : undefined;
}

/** Timers may fire this much early, in milliseconds. */
const TIMER_SLACK_MS = 5;

function abortReason(deadline: number | undefined): DOMException {
  const isLate = deadline !== undefined && Date.now() >= deadline - TIMER_SLACK_MS;
  if (isLate) return new DOMException("The request's deadline passed.", "TimeoutError");
  return new DOMException("The client cancelled the request.", "AbortError");
}

/** Codes that are the server's fault, whose cause somebody should read. */
const SERVER_FAULTS: readonly ErrorCode[] = ["internal", "unknown", "data_loss"];

function logFailure(reason: unknown, call: ByteCall, log: Logger): void {
  const { code, message } = ServingError.from(reason);
  const rpc = call.getPath();
  if (SERVER_FAULTS.includes(code)) log.error("request failed", { rpc, code, err: reason });
  else log.debug("request refused", { rpc, code, reason: message });
}
