import { useEffect, useState } from "preact/hooks";
import type { LogLine } from "../observability/live/log-line.ts";
import { callServer } from "./call-server.ts";

/** Milliseconds between two looks, and lines that are shown. */
const [EVERY_MS, MAX_LINES] = [2000, 500];

/** The end of the server's log. */
export function LogPart() {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [error, setError] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    let known: readonly LogLine[] = [];
    const look = async () => {
      try {
        const response = await callServer(`ui/log?after=${known.at(-1)?.number ?? 0}`, { signal: stop.signal });
        const { lines: fresh } = (await response.json()) as { lines: readonly LogLine[] };
        known = [...known, ...fresh].slice(-MAX_LINES);
        setLines(known);
        setError("");
      } catch (reason) {
        if (!stop.signal.aborted) setError(reason instanceof Error ? reason.message : String(reason));
      }
    };
    void look();
    const timer = setInterval(() => void look(), EVERY_MS);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, []);
  return (
    <>
      <h2>Log</h2>
      {error !== "" && <p class="notice bad">{error}</p>}
      {lines.length === 0 && <p>Nothing was logged since the server was started.</p>}
      <ol class="log" aria-label="Lines of the log, the newest first">
        {lines.toReversed().map(({ number, at, level, message, fields }) => (
          <li key={number}>
            <time class="facts">{new Date(at).toLocaleTimeString()}</time>{" "}
            <span class={level === "error" ? "bad" : level === "warn" ? "busy" : "facts"}>{level}</span> {message}{" "}
            <span class="facts">{fields}</span>
          </li>
        ))}
      </ol>
    </>
  );
}
