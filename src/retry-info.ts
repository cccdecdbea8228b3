import type { ErrorDetail } from "./errors.ts";

const TYPE = "type.googleapis.com/google.rpc.RetryInfo";
/** Tags of RetryInfo.retry_delay, Duration.seconds and Duration.nanos. */
const [DELAY, SECONDS, NANOS] = [0x0a, 0x08, 0x10] as const;
const NANOS_PER_MS = 1_000_000;

/** A `google.rpc.RetryInfo`: whole milliseconds after which a client may try again. */
export function retryInfo(ms: number): ErrorDetail {
  const seconds = Math.floor(ms / 1000);
  const duration = [SECONDS, ...varint(seconds), NANOS, ...varint((ms % 1000) * NANOS_PER_MS)];
  return { type: TYPE, value: Buffer.from([DELAY, duration.length, ...duration]).toString("base64") };
}

/**
 * Milliseconds after which a client may try again, by the first `google.rpc.RetryInfo` of an error; undefined where
 * there is none that can be read.
 */
export function retryDelayMs(details: readonly ErrorDetail[] | undefined): number | undefined {
  const value = details?.find(({ type }) => type === TYPE)?.value;
  return value === undefined ? undefined : readDelay(Buffer.from(value, "base64"));
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return [...bytes, rest];
}

/** Bytes that a hook may have made: what is not exactly such a message says nothing. */
function readDelay(bytes: Buffer): number | undefined {
  if (bytes[0] !== DELAY || bytes[1] !== bytes.length - 2) return undefined;
  let [at, seconds, nanos] = [2, 0, 0];
  while (at < bytes.length) {
    const tag = bytes[at++];
    let [value, scale] = [0, 1];
    for (let byte = 0x80; byte >= 0x80; scale *= 0x80) {
      byte = bytes[at++] ?? Number.NaN;
      value += (byte & 0x7f) * scale;
    }
    if (at > bytes.length || !Number.isSafeInteger(value)) return undefined;
    if (tag === SECONDS) seconds = value;
    else if (tag === NANOS) nanos = value;
    else return undefined;
  }
  return seconds * 1000 + nanos / NANOS_PER_MS;
}
