import type { StatusReporter } from "./status-reporter.ts";

/** Notifies each of them of the events for which it has a method. */
export function joinReporters(reporters: readonly Partial<StatusReporter>[]): StatusReporter {
  const each = (tell: (reporter: Partial<StatusReporter>) => void) => reporters.forEach(tell);
  return {
    loading: (models) => each((reporter) => reporter.loading?.(models)),
    ready: (facts) => each((reporter) => reporter.ready?.(facts)),
    ...(reporters.some(({ example }) => example !== undefined) && {
      example: (heading: string, line: string) => each((reporter) => reporter.example?.(heading, line)),
    }),
    changed: (version) => each((reporter) => reporter.changed?.(version)),
    retiring: (delayMs) => each((reporter) => reporter.retiring?.(delayMs)),
    draining: (count) => each((reporter) => reporter.draining?.(count)),
    stopped: () => each((reporter) => reporter.stopped?.()),
    cutOff: (requests, why) => each((reporter) => reporter.cutOff?.(requests, why)),
  };
}
