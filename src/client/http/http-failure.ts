import { type ErrorCode, reasonText, STATUS } from "../../errors.ts";
import { withoutEnd } from "../../text/without-end.ts";
import { answeredText, CallError, encryptionProblem } from "../call-error.ts";

/** Statuses that the table of codes lacks. */
const OTHER_CODES: Readonly<Record<number, ErrorCode>> = {
  405: "unimplemented",
  408: "deadline_exceeded",
  413: "resource_exhausted",
  502: "unavailable",
};
const MAX_TEXT = 500;

/** The error of an answer that reports a failure. */
export async function failedAnswer(address: string, response: Response): Promise<CallError> {
  const { status } = response;
  const text = await response.text().catch(() => "");
  const serverText = textOf(text) ?? `${response.statusText || "no reason"}`;
  const code = codeOf(status);
  const retryAfter = response.headers.get("retry-after");
  return new CallError(code, answeredText(address, `${status}: ${serverText}`, code), {
    status,
    serverText,
    // A 503 without it may come from something between, after the model ran.
    isSafeToRetry: status === 503 && retryAfter !== null,
    retryAfterMs: retryAfter === null ? undefined : delayOf(retryAfter),
  });
}

const START = "Start a server there with --http-enable, or correct the address.";
/** Web pages and their workers learn no reason. */
const ORIGIN =
  "document" in globalThis || "importScripts" in globalThis
    ? "; it must allow the origin of this page (--cors-origin)"
    : "";
const LOOK = `See whether the address is right and the server runs, and encrypted (https://) or not${ORIGIN}.`;
/** A server of TLS 1.3 may refuse a client without a certificate after the handshake, by which the reason is lost. */
const CLOSED = "See whether the server runs, and whether it asks its clients for a certificate.";

/** The error of a request without an answer, by what `fetch` rejected with. */
export function unansweredError(address: string, reason: unknown): CallError {
  const text = causeText(reason);
  const isUnsent = /refused/i.test(text) || /ECONNREFUSED/.test(codesOf(reason));
  const encryption = encryptionProblem(text, "http");
  const look = /other side closed|ECONNRESET/.test(text) && address.startsWith("https:") ? CLOSED : LOOK;
  const advice = encryption?.advice ?? (isUnsent ? START : look);
  const message = `${address} cannot be reached: ${encryption?.meaning ?? withoutEnd(text.trimEnd(), ". ")}. ${advice}`;
  return new CallError("unavailable", message, { cause: reason, isSafeToRetry: isUnsent });
}

function codeOf(status: number): ErrorCode {
  const codes = Object.keys(STATUS) as ErrorCode[];
  const exact = OTHER_CODES[status] ?? codes.find((code) => STATUS[code].http === status);
  return exact ?? (status < 500 ? "invalid_argument" : "unknown");
}

/**
 * `error` of JSON, as kserving and Triton have it, or `detail`, as servers in Python
 * do; else the beginning of a short text.
 */
function textOf(text: string): string | undefined {
  try {
    const { error, detail } = JSON.parse(text) as { error?: unknown; detail?: unknown };
    const own = error ?? detail;
    return own === undefined ? text.slice(0, MAX_TEXT) : typeof own === "string" ? own : JSON.stringify(own);
  } catch {
    const isPage = /^\s*</.test(text);
    if (isPage) return "a page instead of JSON, so this may be the address of something else";
    return text.trim() === "" ? undefined : text.trim().slice(0, MAX_TEXT);
  }
}

/** Seconds, or a date. */
function delayOf(retryAfter: string): number | undefined {
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** The reason itself: Node's `fetch` wraps it in "fetch failed". */
function causeText(reason: unknown): string {
  const { cause } = reason as { cause?: unknown };
  if (cause === undefined) return reasonText(reason);
  return cause instanceof AggregateError ? reasonText(cause.errors[0]) : reasonText(cause);
}

function codesOf(reason: unknown): string {
  const { code, cause } = (reason ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return `${code} ${cause?.code}`;
}
