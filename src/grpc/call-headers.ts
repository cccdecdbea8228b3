import { ServingError } from "../errors.ts";
import type { ReceivedFields, RequestHead } from "../http2/message-head.ts";
import { createRecord } from "../tensor/record.ts";
import { splitBinary } from "./metadata-headers.ts";

/** Headers of the call itself, which do not belong to its metadata. */
const CALL_HEADERS: ReadonlySet<string> = new Set([
  "accept-encoding",
  "content-type",
  "grpc-accept-encoding",
  "grpc-encoding",
  "grpc-timeout",
  "te",
]);

/** Facts about a call from its headers. */
export interface CallHead {
  readonly metadata: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch; undefined if the client sets no deadline. */
  readonly deadline: number | undefined;
}

/** The HTTP status for a request that is not a gRPC call; undefined for one that is. */
export function httpRefusal({ ":method": method, "content-type": type = "" }: ReceivedFields): number | undefined {
  if (method !== "POST") return 405;
  if (type === "application/grpc") return undefined;
  return /^application\/grpc(?:[+;]|$)/.test(type) ? undefined : 415;
}

/** Reads the headers of a call; throws `internal`, as grpc-js does, for a malformed timeout. */
export function readCallHeaders({ byName: headers, raw }: Pick<RequestHead, "byName" | "raw">): CallHead {
  const metadata = createRecord<string>();
  const binary = new Set<string>();
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    if (name.startsWith(":") || CALL_HEADERS.has(name)) continue;
    metadata[name] = metadata[name] === undefined ? (raw[at + 1] as string) : (headers[name] as string);
    if (name.endsWith("-bin")) binary.add(name);
  }
  // Once for each name, however often it came.
  for (const name of binary) metadata[name] = toPaddedBase64(metadata[name] as string);
  const timeout = headers["grpc-timeout"];
  return { metadata, deadline: timeout === undefined ? undefined : Date.now() + parseTimeout(timeout) };
}

/** Clients may omit the padding. */
function toPaddedBase64(values: string): string {
  return splitBinary(values)
    .map((bytes) => (bytes.length === 0 ? "" : bytes.toString("base64")))
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
