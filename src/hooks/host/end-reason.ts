import { type ErrorDetail, reasonText, ServingError } from "../../errors.ts";
import { FULL_THREAD, HUNG_THREAD, LOST_THREAD } from "../../lost-process.ts";
import { hidePaths } from "../../platform/text/hide-paths.ts";
import { shorten } from "../../platform/text/shorten.ts";

/** Phase of a hook thread: importing its file, waiting for models, running init_hook, answering requests. */
export type ThreadPhase = "load" | "wait" | "init" | "run";

const WHILE: Readonly<Record<ThreadPhase, string>> = {
  load: "while it was loaded",
  wait: "before its init_hook ran",
  init: "while its init_hook ran",
  run: "while it answered requests",
};

/** Ends that have cost others more than a moment, and what the requests that were lost with them are told. */
const costly = new WeakMap<ServingError, ErrorDetail>();

/** The end of a thread that was not closed. */
export interface ThreadEnd {
  /** The error that it sent or threw, if any. */
  readonly failure: unknown;
  readonly phase: ThreadPhase;
  /** The hook file. */
  readonly file: string;
  readonly exitCode: number;
}

/**
 * The error for the end of a hook thread: `failed_precondition` for a file that does not start, `resource_exhausted`
 * for one out of memory, else `unavailable`.
 */
export function endReason({ failure, phase, file, exitCode }: ThreadEnd): ServingError {
  if (failure instanceof ServingError) return failure;
  const { code } = (failure ?? {}) as { code?: string };
  if (code === "ERR_WORKER_OUT_OF_MEMORY") return memoryReason(file, phase, failure);
  const what =
    failure === undefined
      ? `ended its thread ${WHILE[phase]} (exit code ${exitCode}); does it call process.exit()? Throw an error instead.`
      : `failed with an uncaught error, ${WHILE[phase]}: ${reasonText(failure)}. Catch the errors of timers and of listeners.`;
  return new ServingError(codeFor(phase), `${file} ${what}`, { cause: failure });
}

/** The error for a thread that holds more memory than it may. */
export function memoryReason(file: string, phase: ThreadPhase, cause?: unknown): ServingError {
  const message = `${file} used more memory than --hook-memory allows, ${WHILE[phase]}; raise it, or keep less.`;
  const reason = new ServingError("resource_exhausted", message, { cause });
  costly.set(reason, FULL_THREAD);
  return reason;
}

/** The error for a thread that violated the protocol between threads. */
export function malformedReason(file: string, phase: ThreadPhase, cause: Error): ServingError {
  return new ServingError(
    codeFor(phase),
    `${file} sent the server a malformed message ${WHILE[phase]}: ${cause.message}. Does it, or a package that it imports, replace built-in functions, or post to ports that are not its own?`,
    { cause },
  );
}

/** The error for a thread whose event loop hung. */
export function stallReason(file: string, phase: ThreadPhase, stallMs: number): ServingError {
  const message = `${file} blocked its thread for ${stallMs} ms (--hook-stall) ${WHILE[phase]}: is there an endless loop? Wait asynchronously for what takes long, or raise --hook-stall.`;
  const reason = new ServingError(codeFor(phase), message);
  costly.set(reason, HUNG_THREAD);
  return reason;
}

/** A detail of the errors of requests that were lost with a thread that has ended for a reason. */
export function lossOf(ended: ServingError): ErrorDetail {
  return costly.get(ended) ?? LOST_THREAD;
}

/** Characters of a thread's reason to end that clients get. */
const MAX_REASON = 1024;

/**
 * The error of a request that was lost with the thread of this file, as clients see it: with the kind of reason for
 * which the thread has ended, since the request may have been it; the log has its text.
 */
export function lossReason(lost: ServingError, ended: ServingError, file: string): ServingError {
  const { code } = lost;
  const details = [lossOf(ended)];
  // It may be of another client's request, whose values it may have.
  const own = ended.cause === undefined ? "" : `: ${reasonText(ended.cause)}`;
  const [why = ""] = shorten(ended.message.replace(own, "").replace(file, "The hook file"), MAX_REASON).split("\n", 1);
  const message = `The request was lost: the hooks' thread has ended. ${hidePaths(why)} Send it again if another request was the cause.`;
  return new ServingError(code, message, { cause: lost, details });
}

function codeFor(phase: ThreadPhase): "failed_precondition" | "unavailable" {
  return phase === "load" || phase === "init" ? "failed_precondition" : "unavailable";
}
