import { reopenOnDemand } from "../lifecycle/reopen-on-demand.ts";
import { openProgramLog, type ProgramLog, type ProgramLogOptions } from "../program-log.ts";
import { type Environment, misspeltVariables } from "../settings/environment.ts";

/** Opens a command's log, which SIGUSR2 reopens, and warns of misspelt variables; `warnings` follow. */
export function openLog(settings: ProgramLogOptions, env: Environment, warnings: readonly string[] = []): ProgramLog {
  const programLog = openProgramLog(settings);
  reopenOnDemand(programLog);
  for (const warning of [...misspeltVariables(env), ...warnings]) programLog.log.warn(warning);
  return programLog;
}
