import type { ProgramLog } from "../program-log.ts";
import type { Announcer } from "./announcer.ts";
import { createLogAnnouncer } from "./log-announcer.ts";
import { createTerminalAnnouncer } from "./terminal-announcer.ts";

/** Reports to a person at a terminal, and to the log's file where there is one; without a terminal, to the whole log. */
export function chooseAnnouncer({ log, fileLog, terminal }: ProgramLog): Announcer {
  if (terminal === undefined) return createLogAnnouncer(log);
  const person = createTerminalAnnouncer(terminal);
  const both = fileLog === undefined ? [person] : [person, createLogAnnouncer(fileLog)];
  const each = (tell: (announcer: Announcer) => void) => both.forEach(tell);
  return {
    loading: (models) => each((announcer) => announcer.loading(models)),
    ready: (facts) => each((announcer) => announcer.ready(facts)),
    example: (heading, line) => each((announcer) => announcer.example?.(heading, line)),
    draining: (count) => each((announcer) => announcer.draining(count)),
    stopped: () => each((announcer) => announcer.stopped()),
    cutOff: (requests, why) => each((announcer) => announcer.cutOff(requests, why)),
  };
}
