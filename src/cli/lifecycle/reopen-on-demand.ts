import type { ProgramLog } from "../program-log.ts";
import { onAsked } from "../supervisor/supervised.ts";

/** The signal by which log rotation says that a file has been renamed; SIGUSR1 is Node's own, for debuggers. */
const SIGNAL = "SIGUSR2";

/** Opens the log's file again on SIGUSR2, which would end the program otherwise. */
export function reopenOnDemand({ reopen }: Pick<ProgramLog, "reopen">): void {
  onAsked(SIGNAL, reopen);
}
