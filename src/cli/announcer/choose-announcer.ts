import type { Logger } from "../../observability/logger.ts";
import type { Announcer } from "./announcer.ts";
import { createLogAnnouncer } from "./log-announcer.ts";
import { createTerminalAnnouncer } from "./terminal-announcer.ts";

/** Tells a person at a terminal, or a log where nobody looks on; both where there is a terminal and the log is a file. */
export function chooseAnnouncer(log: Logger, logPath: string | undefined): Announcer {
  const terminal = process.stdout.isTTY ? [createTerminalAnnouncer(process.stdout)] : [];
  const logs = terminal.length === 0 || logPath !== undefined ? [createLogAnnouncer(log)] : [];
  const each = (tell: (announcer: Announcer) => void) => [...terminal, ...logs].forEach(tell);
  return {
    loading: (models) => each((announcer) => announcer.loading(models)),
    ready: (facts) => each((announcer) => announcer.ready(facts)),
    draining: (count) => each((announcer) => announcer.draining(count)),
    stopped: () => each((announcer) => announcer.stopped()),
    cutOff: (requests, why) => each((announcer) => announcer.cutOff(requests, why)),
  };
}
