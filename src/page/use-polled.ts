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
