/** As it is before hooks, in whose threads this runs too, may replace it. */
const now = performance.now.bind(performance);

/** Each thread counts performance.now() from its own start. */
const OFFSET_MS = Number(process.hrtime.bigint()) / 1e6 - now();

/**
 * Milliseconds on a clock that all threads and processes of a machine share and that
 * is never set; its zero means nothing.
 */
export function steadyMs(): number {
  return OFFSET_MS + now();
}

/** A time of this thread's performance.now() on the clock of {@link steadyMs}. */
export function toSteadyMs(time: number): number {
  return OFFSET_MS + time;
}

/** Zero of {@link steadyMs} on the system's clock. */
let epochMs = Number.NEGATIVE_INFINITY;

/**
 * Milliseconds since the epoch at a time of {@link steadyMs}, by the system's clock as it is now, and with parts of
 * milliseconds: of what Date.now() cuts off, as little as it ever did until the clock is set.
 */
export function toEpochMs(steady: number): number {
  const seen = Date.now() - steadyMs();
  if (seen > epochMs || seen < epochMs - 1) epochMs = seen;
  return epochMs + steady;
}
