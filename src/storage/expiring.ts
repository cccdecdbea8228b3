import { ServingError } from "../errors.ts";

/** Credentials that end at a time. */
export interface Expiring {
  /** In milliseconds since 1970; undefined for ones that last. */
  readonly expiresMs?: number | undefined;
}

/**
 * Time before their end from which credentials are not used any more, in milliseconds:
 * a download takes its time to begin.
 */
const MARGIN_MS = 120_000;

/** Time until others are looked for where there are none, in milliseconds. */
const NONE_MS = 900_000;
/** The same where a machine's service failed, which it may do while the machine starts. */
const FAILED_MS = 10_000;

/** Credentials that a machine's own service gives; nothing, for a time, where there is no such service or it fails. */
export async function ofMachine<Value extends Expiring>(ask: () => Promise<Value>): Promise<Value | Expiring> {
  try {
    return await ask();
  } catch (reason) {
    return { expiresMs: Date.now() + (isAbsent(reason) ? NONE_MS : MARGIN_MS + FAILED_MS) };
  }
}

function isAbsent(reason: unknown): boolean {
  const { code, cause } = ServingError.from(reason);
  const { code: why = "" } = (cause ?? {}) as NodeJS.ErrnoException;
  return code === "not_found" || ["ENOTFOUND", "EHOSTUNREACH", "ECONNREFUSED"].includes(why);
}

/** Obtains credentials once, and again when they are about to end. Failures are not kept. */
export function untilExpired<Value extends Expiring>(obtain: () => Promise<Value>): () => Promise<Value> {
  let kept: Promise<Value> | undefined;
  return async () => {
    const before = await kept?.catch(() => undefined);
    const isGood = before !== undefined && (before.expiresMs ?? Number.POSITIVE_INFINITY) - MARGIN_MS > Date.now();
    if (!isGood) kept = obtain();
    return kept as Promise<Value>;
  };
}
