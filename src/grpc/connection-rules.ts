import { invalidArgument } from "../errors.ts";
import type { ConnectionRules } from "../http2/session-limits.ts";
import type { Logger } from "../observability/logger.ts";

/** Limits on a server's connections, which gRPC calls channel arguments; absent = the server's own. */
export interface ChannelRules extends ConnectionRules {
  /** Size of the largest message, in bytes; only values below the server's own limit have an effect. */
  readonly maxMessageBytes?: number;
}

/** Keys of https://grpc.github.io/grpc/core/group__grpc__arg__keys.html that have an effect here. */
const KEYS: Readonly<Record<string, keyof ChannelRules>> = {
  "grpc.max_concurrent_streams": "maxConcurrentStreams",
  "grpc.max_connection_age_ms": "maxAgeMs",
  "grpc.max_connection_age_grace_ms": "maxAgeGraceMs",
  "grpc.max_connection_idle_ms": "maxIdleMs",
  "grpc.keepalive_time_ms": "pingIntervalMs",
  "grpc.keepalive_timeout_ms": "pingTimeoutMs",
  "grpc.max_receive_message_length": "maxMessageBytes",
};

/** gRPC's value for no limit. */
const UNLIMITED = 2 ** 31 - 1;

/**
 * Reads `KEY=VALUE` texts, the form of TensorFlow Serving's --grpc_channel_arguments; warns once about those that have
 * no effect here. Throws `invalid_argument` for a text of another form.
 */
export function readChannelArguments(texts: readonly string[], log: Logger): ChannelRules {
  const rules: Record<string, number> = {};
  const ignored: string[] = [];
  for (const text of texts) {
    const [, key = "", value = ""] = /^([^=]+)=(.*)$/.exec(text) ?? [];
    if (key === "") throw invalidArgument(`The gRPC channel argument is "${text}"; expected KEY=VALUE.`);
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
