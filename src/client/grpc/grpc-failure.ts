import { type ServiceError, status } from "@grpc/grpc-js";
import { fromGrpcStatus, reasonText } from "../../errors.ts";
import { withoutEnd } from "../../platform/text/shorten.ts";
import { retryDelayMs } from "../../retry-info.ts";
import { answeredText, CallError, encryptionProblem } from "../call-error.ts";
import { lastError } from "../remote/connection-problem.ts";
import { detailsOf } from "../remote/grpc-messages.ts";

/** The error of a call that failed; `hasHeaders`: the server had begun its answer. */
export function grpcFailure(address: string, error: ServiceError, hasHeaders: boolean): CallError {
  const { code: number, details: text, metadata } = error;
  const code = fromGrpcStatus(number);
  const details = detailsOf(error);
  const [type] = metadata.get("content-type");
  if (!hasHeaders && type === undefined) return unanswered(address, error);
  return new CallError(code, answeredText(address, `${status[number] ?? number}: ${text || "no reason"}`, code), {
    cause: error,
    details,
    status: number,
    serverText: text,
    // Anything else may come from something between, or of a model that ran.
    isSafeToRetry: code === "unavailable" && !hasHeaders && String(type).startsWith("application/grpc"),
    retryAfterMs: retryDelayMs(details),
  });
}

/** The transport's own words: if no connection was made, nothing was sent. */
function unanswered(address: string, error: ServiceError): CallError {
  const code = fromGrpcStatus(error.code);
  const text = withoutEnd(lastError(error.details || reasonText(error)).trimEnd(), ". ");
  if (code === "deadline_exceeded")
    return new CallError(code, "The call's time was up before the answer came. Give it a longer timeoutMs.", {
      cause: error,
    });
  if (code !== "unavailable") return new CallError(code, `${address}: ${text}.`, { cause: error });
  const encryption = encryptionProblem(text, "grpc");
  const isUnsent = /No connection established|Name resolution failed/.test(error.details);
  const advice = encryption?.advice ?? (isUnsent ? START : "Send the call again if it may run twice.");
  return new CallError(code, `${address} cannot be reached: ${encryption?.meaning ?? text}. ${advice}`, {
    cause: error,
    isSafeToRetry: isUnsent && encryption === undefined,
  });
}

const START = "Start a server there, or correct the address: grpcs:// where it is encrypted.";
