/** Threads of one kind that work for one version of a model. */
export interface ThreadCounts {
  /** Those that can take work. */
  readonly ready: number;
  /** Those that should be there, and start or have been lost. */
  readonly missing: number;
  /** Threads that were lost until now: each is replaced. */
  readonly lost: number;
}

/** Threads of several pools together. */
export function sumThreads(parts: readonly ThreadCounts[]): ThreadCounts {
  const [sum, ...others] = parts.length === 0 ? [{ ready: 0, missing: 0, lost: 0 }] : parts;
  return others.reduce(
    (total, { ready, missing, lost }) => ({
      ready: total.ready + ready,
      missing: total.missing + missing,
      lost: total.lost + lost,
    }),
    sum!,
  );
}
