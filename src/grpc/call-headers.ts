import type { IncomingHttpHeaders } from "node:http2";
import { ServingError } from "../errors.ts";
import type { CallHead } from "./unary-handler.ts";

/** Headers of the call itself, which are no metadata. */
const CALL_HEADERS: ReadonlySet<string> = new Set([
  "accept-encoding",
  "content-type",
  "grpc-accept-encoding",
  "grpc-encoding",
  "grpc-timeout",
  "te",
]);

/** Whether a call is one that needs no more of gRPC than a message each way: not compressed. */
export function isPlainCall(headers: IncomingHttpHeaders): boolean {
  const { ":method": method, "content-type": type = "", "grpc-encoding": encoding = "identity" } = headers;
  return method === "POST" && type.startsWith("application/grpc") && encoding === "identity";
}

/** What the headers of a call say; throws `internal`, as grpc-js does, for a timeout that is none. */
export function readCallHeaders(headers: IncomingHttpHeaders): CallHead {
  const metadata: Record<string, string> = Object.create(null);
  for (const name in headers) {
    if (name.startsWith(":") || CALL_HEADERS.has(name)) continue;
    const value = headers[name] as string | string[];
    const text = typeof value === "string" ? value : value.join(", ");
    metadata[name] = name.endsWith("-bin") ? toPaddedBase64(text) : text;
  }
  const timeout = headers["grpc-timeout"] as string | undefined;
  return { metadata, deadline: timeout === undefined ? undefined : Date.now() + parseTimeout(timeout) };
}

/** Clients may leave the padding out. */
function toPaddedBase64(values: string): string {
  return values
    .split(",")
    .map((value) => Buffer.from(value, "base64").toString("base64"))
    .join(", ");
}

const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** In milliseconds. */
function parseTimeout(text: string): number {
  const [, count, unit = ""] = TIMEOUT.exec(text) ?? [];
  if (count === undefined) throw new ServingError("internal", `Invalid grpc-timeout value "${text}"`);
  return Math.floor(Number(count) * (UNIT_MS[unit] as number));
}
