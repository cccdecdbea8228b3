import type { Logger } from "../../src/observability/logger.ts";

/** A logger that keeps its `info` events. */
export function createRecordingLogger(): { readonly log: Logger; readonly events: [string, unknown][] } {
  const events: [string, unknown][] = [];
  const ignore = () => {};
  const log: Logger = {
    level: "info",
    trace: ignore,
    debug: ignore,
    info: (message, fields) => void events.push([message, fields]),
    warn: ignore,
    error: ignore,
    child: () => log,
  };
  return { log, events };
}
