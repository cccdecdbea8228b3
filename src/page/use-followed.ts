import { useEffect, useState } from "preact/hooks";
import { callServer } from "./call-server.ts";

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
 * The end of a list, of which each look fetches what is new, undefined before the first
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
