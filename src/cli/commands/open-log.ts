import { openProgramLog, type ProgramLog, type ProgramLogOptions } from "../program-log.ts";
import { type Environment, misspeltVariables } from "../settings/environment.ts";
import { onAsked } from "../supervisor/supervised.ts";

/** The signal by which log rotation says that a file has been renamed; SIGUSR1 is Node's own, for debuggers. */
const SIGNAL = "SIGUSR2";

/** Opens a command's log, which SIGUSR2 reopens, and warns of misspelt variables; `warnings` follow. */
export function openLog(settings: ProgramLogOptions, env: Environment, warnings: readonly string[] = []): ProgramLog {
  const programLog = openProgramLog(settings);
  onAsked(SIGNAL, programLog.reopen);
  for (const warning of [...misspeltVariables(env), ...warnings]) programLog.log.warn(warning);
  return programLog;
}
