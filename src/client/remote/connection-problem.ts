import { type Client, credentials, status } from "@grpc/grpc-js";
import { reasonText, systemCode } from "../../errors.ts";
import { withoutEnd } from "../../platform/text/shorten.ts";
import { askHealth, connectGrpc } from "./grpc-connection.ts";

/** Codes and texts of the system, of Node and of gRPC, and what they mean to a person. The first that fits counts. */
const MEANINGS: readonly (readonly [pattern: RegExp, meaning: string])[] = [
  [/ECONNREFUSED|ENOENT/, "nothing listens there; start a server, or correct the address"],
  [/ENOTFOUND|EAI_AGAIN|name resolution failed/i, "no machine has this name; correct the address"],
  [/DEADLINE_EXCEEDED/, "no answer in time"],
  [
    /This port serves HTTP: ([\w ]+)/,
    "it speaks no gRPC there ($1); http:// or https:// before the address asks over HTTP",
  ],
  [/UNIMPLEMENTED/, "it has no health service (grpc.health.v1)"],
  [
    /wrong version number|packet length too long|before secure TLS/,
    "it is not encrypted there; expected an address without grpcs:// or https://",
  ],
  [
    /certificate required|handshake failure|bad certificate/,
    "it asks its clients for a certificate, by --remote-cert and --remote-key",
  ],
  [/no application protocol/, "it speaks no gRPC there; https:// before the address asks over HTTP"],
  [/alert certificate expired/, "the certificate of --remote-cert has expired"],
  [/alert unknown ca/, "it does not know the authority of --remote-cert"],
];

const NO_GRPC = "it speaks no gRPC, or not without TLS; http:// before the address asks over HTTP, grpcs:// over TLS";

/** The reason for which a server gave no answer, in one sentence. */
export function connectionProblem(reason: unknown): string {
  // The message of an error about several addresses of one name is empty.
  const text = `${reasonText(reason)} ${systemCode(reason)}`.trim();
  return meaningOf(text) ?? (text.startsWith("14 UNAVAILABLE") ? NO_GRPC : reasonText(reason));
}

function meaningOf(text: string): string | undefined {
  for (const [pattern, meaning] of MEANINGS) {
    const match = pattern.exec(text);
    if (match !== null) return meaning.replace("$1", match[1] ?? "");
  }
  return undefined;
}

/** Milliseconds for another try to connect. */
const TRY_MS = 1000;

/** The last problem of a client's connection; undefined if it has one, or no reason is known. */
export function whyUnreachable(client: Client): Promise<string | undefined> {
  return new Promise((resolve) => {
    askHealth(client, TRY_MS, (error) => {
      if (error?.code !== status.UNAVAILABLE) resolve(undefined);
      else resolve(meaningOf(error.details) ?? lastError(error.details));
    });
  });
}

const BEFORE = "Last error: ";

/** The last error of a connection's attempts, without what grpc-js writes around it. */
export function lastError(details: string): string {
  const begin = details.indexOf(BEFORE);
  const end = details.indexOf(" Resolution note:", begin);
  if (begin < 0 || end < 0) return details;
  const text = details.slice(begin + BEFORE.length, end).replace(/^Error(?: \[\w+\])?: /, "");
  const untimed = withoutEnd(text, ".");
  const time = untimed.lastIndexOf("(");
  return /^\(\d{4}-\S+\)$/.test(untimed.slice(time)) ? untimed.slice(0, time).trimEnd() : text.trimEnd();
}

/** Statuses of a HealthCheckResponse. */
const STATUSES = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/** Choices for {@link checkHealth}. */
interface HealthCheck {
  readonly timeoutMs: number;
  /** The client's certificate and its private key (PEM), for servers that ask for one. */
  readonly cert: Buffer | null;
  readonly key: Buffer | null;
}

/**
 * Asks the health service of a gRPC server, whose certificate is not checked; resolves
 * with the status, rejects with gRPC's error.
 */
export async function checkHealth(address: string, { timeoutMs, cert, key }: HealthCheck): Promise<string> {
  const client = connectGrpc(address, {
    encrypt: () => credentials.createSsl(null, key, cert, UNCHECKED),
    limits: { "grpc.enable_http_proxy": 0, ...(address.startsWith("grpcs://") && ANY_NAME) },
  });
  try {
    return await new Promise<string>((resolve, reject) => {
      askHealth(client, timeoutMs, (error, answer) => {
        if (error !== null) reject(error);
        else resolve(STATUSES[answer?.[1] ?? 0] ?? "UNKNOWN");
      });
    });
  } finally {
    client.close();
  }
}

/** TLS has no names that are addresses. */
const ANY_NAME = { "grpc.ssl_target_name_override": "localhost" };
const UNCHECKED = { rejectUnauthorized: false, checkServerIdentity: () => undefined };
