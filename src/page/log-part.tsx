import type { LogLine } from "../observability/live/log-line.ts";
import { type Followed, useFollowed } from "./use-followed.ts";

/** Lines that are shown. */
const MAX_LINES = 500;

const LOG: Followed<LogLine> = {
  pathAfter: (last) => `ui/log?after=${last?.number ?? 0}`,
  itemsOf: ({ lines }: { readonly lines: readonly LogLine[] }) => lines,
  keep: (lines) => lines.slice(-MAX_LINES),
  everyMs: 2000,
};

/** The end of the server's log. */
export function LogPart() {
  const { items: lines, error } = useFollowed(LOG);
  return (
    <>
      <h2>Log</h2>
      {error !== "" && <p class="notice bad">{error}</p>}
      {lines?.length === 0 && <p>Nothing was logged since the server was started.</p>}
      <ol class="log" aria-label="Lines of the log, the newest first">
        {lines?.toReversed().map(({ number, at, level, message, fields }) => (
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
