/** A promise that other code settles. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** A promise to be settled later; an unhandled rejection of it is not an error. */
export function createDeferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/**
 * Resolves with true once the promise does, or with false after a number of milliseconds; rejects as the promise does.
 */
export async function settlesWithin(promise: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Results of pieces of work in their order. At most `atOnce` are under way or wait to be taken, so that no more are
 * started than are taken. Ends with the first error in that order.
 */
export async function* inOrder<Work, Result>(
  work: Iterable<Work>,
  start: (work: Work) => Promise<Result>,
  atOnce: number,
): AsyncGenerator<Result> {
  const started: Promise<Result>[] = [];
  for (const each of work) {
    const result = start(each);
    // It is thrown when its turn comes, if it does.
    result.catch(() => {});
    started.push(result);
    if (started.length >= atOnce) yield (await started.shift()) as Result;
  }
  while (started.length > 0) yield (await started.shift()) as Result;
}

/**
 * Runs steps with the same name one after the other, in the order of arrival, and
 * those with different names concurrently.
 */
export class TurnsByName {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs a step when it is its turn; settles as it does. */
  run<T>(name: string, step: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(name) ?? Promise.resolve()).then(step);
    const over = result
      .catch(() => {})
      .then(() => {
        if (this.#last.get(name) === over) this.#last.delete(name);
      });
    this.#last.set(name, over);
    return result;
  }
}
