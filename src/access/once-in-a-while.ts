/** Time in which a function is called once, in milliseconds. */
const QUIET_MS = 60_000;

/**
 * A function that does nothing for a minute after each call: anyone can make the log
 * as long as they like with what they are refused.
 */
export function onceInAWhile<Args extends readonly unknown[]>(call: (...args: Args) => void): (...args: Args) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  return (...args) => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + QUIET_MS;
    call(...args);
  };
}
