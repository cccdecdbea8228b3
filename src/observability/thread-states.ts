/** Threads of one kind that work for one version of a model. */
export interface ThreadStates {
  /** Those that can take work. */
  readonly ready: number;
  /** Those that should be there, and start or have been lost. */
  readonly missing: number;
  /** Threads that were lost until now: each is replaced. */
  readonly lost: number;
  /** Numbers of those that are processes; absent if none is one. */
  readonly pids?: readonly number[];
}

/** Threads of several pools together. */
export function sumThreads(parts: readonly ThreadStates[]): ThreadStates {
  const sum = (read: (part: ThreadStates) => number) => parts.reduce((total, part) => total + read(part), 0);
  const pids = parts.flatMap((part) => part.pids ?? []);
  return {
    ...{ ready: sum(({ ready }) => ready), missing: sum(({ missing }) => missing), lost: sum(({ lost }) => lost) },
    ...(pids.length > 0 && { pids }),
  };
}
