/** Timeouts by the signals that follow them: Node.js 20 frees a timeout that nothing else holds before it fires. */
const timeouts = new WeakMap<AbortSignal, AbortSignal>();

/** A signal that aborts with the given one, and after a time with `TimeoutError`; undefined = no limit. */
export function limitedSignal(signal: AbortSignal | undefined, timeoutMs: number | undefined): AbortSignal {
  const given = signal === undefined ? [] : [signal];
  if (timeoutMs === undefined) return AbortSignal.any(given);
  const timeout = AbortSignal.timeout(timeoutMs);
  const limited = AbortSignal.any([...given, timeout]);
  timeouts.set(limited, timeout);
  return limited;
}
