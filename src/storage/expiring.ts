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
