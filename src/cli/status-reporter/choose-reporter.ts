import type { ProgramLog } from "../program-log.ts";
import { joinReporters } from "./join-reporters.ts";
import { createLogReporter } from "./log-reporter.ts";
import type { StatusReporter } from "./status-reporter.ts";
import { createTerminalReporter } from "./terminal-reporter.ts";

/**
 * Reports to a person at a terminal, and to the log's file where there is one; without
 * a terminal, to the whole log; and to `further`.
 */
export function chooseReporter(
  { log, fileLog, terminal }: ProgramLog,
  further: Partial<StatusReporter> = {},
): StatusReporter {
  if (terminal === undefined) return joinReporters([createLogReporter(log), further]);
  const person = createTerminalReporter(terminal);
  return joinReporters([person, ...(fileLog === undefined ? [] : [createLogReporter(fileLog)]), further]);
}
