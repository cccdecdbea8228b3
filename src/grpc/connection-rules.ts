import { invalidArgument } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";

/** Limits of a server's HTTP/2 connections that gRPC calls channel arguments; absent = the server's own. */
export interface ConnectionRules {
  /** Calls of one connection at once. */
  readonly maxConcurrentStreams?: number;
  /** Milliseconds after which a connection takes no new calls; a tenth more or less, so that clients do not all come back at once. */
  readonly maxAgeMs?: number;
  /** Milliseconds that its calls have from then on. */
  readonly maxAgeGraceMs?: number;
  /** Milliseconds without a call after which a connection is ended. */
  readonly maxIdleMs?: number;
  /** Milliseconds between two pings. */
  readonly pingIntervalMs?: number;
  /** Milliseconds that a client has to answer one. */
  readonly pingTimeoutMs?: number;
  /** Bytes of the largest message; more than the server's own limit counts for nothing. */
  readonly maxMessageBytes?: number;
}

/** Keys of https://grpc.github.io/grpc/core/group__grpc__arg__keys.html that say something here. */
const KEYS: Readonly<Record<string, keyof ConnectionRules>> = {
  "grpc.max_concurrent_streams": "maxConcurrentStreams",
  "grpc.max_connection_age_ms": "maxAgeMs",
  "grpc.max_connection_age_grace_ms": "maxAgeGraceMs",
  "grpc.max_connection_idle_ms": "maxIdleMs",
  "grpc.keepalive_time_ms": "pingIntervalMs",
  "grpc.keepalive_timeout_ms": "pingTimeoutMs",
  "grpc.max_receive_message_length": "maxMessageBytes",
};

/** gRPC's word for no limit. */
const UNLIMITED = 2 ** 31 - 1;

/**
 * The rules that `KEY=VALUE` texts give, as TensorFlow Serving's --grpc_channel_arguments has them; warns once of those that say nothing
 * here. Throws `invalid_argument` for a text of another form.
 */
export function readChannelArguments(texts: readonly string[], log: Logger): ConnectionRules {
  const rules: Record<string, number> = {};
  const ignored: string[] = [];
  for (const text of texts) {
    const [, key = "", value = ""] = /^([^=]+)=(.*)$/.exec(text) ?? [];
    if (key === "") throw invalidArgument(`The gRPC channel argument "${text}" is none; expected KEY=VALUE.`);
    const rule = Object.hasOwn(KEYS, key) ? KEYS[key] : undefined;
    if (rule === undefined) ignored.push(key);
    else if (value !== "-1" && Number(value) !== UNLIMITED) rules[rule] = readAmount(key, value);
  }
  if (ignored.length > 0) {
    log.warn("gRPC channel arguments that say nothing here are ignored", { ignored, known: Object.keys(KEYS) });
  }
  return rules;
}

function readAmount(key: string, value: string): number {
  if (/^\d{1,10}$/.test(value) && Number(value) >= 1 && Number(value) < UNLIMITED) return Number(value);
  throw invalidArgument(
    `The gRPC channel argument ${key} is "${value}"; expected an integer of 1 or more, or -1 for no limit.`,
  );
}
