import type { ProgramLog } from "../program-log.ts";
import type { Announcer } from "./announcer.ts";
import { joinAnnouncers } from "./join-announcers.ts";
import { createLogAnnouncer } from "./log-announcer.ts";
import { createTerminalAnnouncer } from "./terminal-announcer.ts";

/** Reports to a person at a terminal, and to the log's file where there is one; without a terminal, to the whole log; and to `further`. */
export function chooseAnnouncer({ log, fileLog, terminal }: ProgramLog, further: Partial<Announcer> = {}): Announcer {
  if (terminal === undefined) return joinAnnouncers([createLogAnnouncer(log), further]);
  const person = createTerminalAnnouncer(terminal);
  return joinAnnouncers([person, ...(fileLog === undefined ? [] : [createLogAnnouncer(fileLog)]), further]);
}
