import { useCallback, useEffect, useState } from "preact/hooks";
import { callServer } from "./call-server.ts";

/** The last answer of a route, and the last failure. */
export interface Polled<Value> {
  readonly value: Value | undefined;
  readonly error: unknown;
  /** Asks at once. */
  readonly refresh: () => void;
}

/** After so long a server is taken for one that does not answer. */
const MAX_MS = 10_000;

/** Asks a route for JSON again and again while the page is seen. */
export function usePolled<Value>(path: string, everyMs: number): Polled<Value> {
  const [value, setValue] = useState<Value>();
  const [error, setError] = useState<unknown>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isWanted = round > 0;
    const ask = async () => {
      try {
        if (!document.hidden || isWanted) {
          isWanted = false;
          const response = await callServer(path, {
            signal: AbortSignal.any([stop.signal, AbortSignal.timeout(MAX_MS)]),
          });
          setValue((await response.json()) as Value);
          setError(undefined);
        }
      } catch (reason) {
        if (stop.signal.aborted) return;
        setError(reason);
      }
      if (!stop.signal.aborted) timer = setTimeout(ask, everyMs);
    };
    void ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, everyMs, round]);
  const refresh = useCallback(() => setRound((before) => before + 1), []);
  return { value, error, refresh };
}

/** A list on the server to which items are added. */
export interface Followed<Item> {
  /** Route of the items after the last one that is known. */
  readonly pathAfter: (last: Item | undefined) => string;
  /** Items of an answer. */
  readonly itemsOf: (answer: never) => readonly Item[];
  /** The items to keep of those that are known. */
  readonly keep: (items: readonly Item[]) => readonly Item[];
  /** Milliseconds between two looks. */
  readonly everyMs: number;
}

/**
 * The end of a list, of which each look fetches the new items, undefined before the first
 * answer; an error's text, empty = there is none. `followed` stays the same object.
 */
export function useFollowed<Item>(followed: Followed<Item>): {
  readonly items: readonly Item[] | undefined;
  readonly error: string;
} {
  const [items, setItems] = useState<readonly Item[]>();
  const [error, setError] = useState("");
  useEffect(() => {
    const { pathAfter, itemsOf, keep, everyMs } = followed;
    const stop = new AbortController();
    let known: readonly Item[] = [];
    const look = async () => {
      try {
        const response = await callServer(pathAfter(known.at(-1)), { signal: stop.signal });
        known = keep([...known, ...itemsOf((await response.json()) as never)]);
        setItems(known);
        setError("");
      } catch (reason) {
        if (!stop.signal.aborted) setError(reason instanceof Error ? reason.message : String(reason));
      }
      if (!stop.signal.aborted) timer = setTimeout(() => void look(), everyMs);
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [followed]);
  return { items, error };
}
