import type { Logger } from "../../observability/logger.ts";
import { removeUnderWay } from "../../observability/request-log/fatal-files.ts";
import { removeScratchFiles } from "../../platform/user-module/scratch-file.ts";
import { supervised } from "../supervisor/supervised.ts";

/**
 * Ends the process at once and runs no exit handlers: native code that still runs would abort in them.
 * The shell sees 128 + the signal's number.
 */
export function killSelf(signal: NodeJS.Signals = "SIGKILL"): never {
  supervised()?.enter("ending");
  removeScratchFiles();
  removeUnderWay();
  process.kill(process.pid, signal);
  // Only the first process of a container lives to see this line: the kernel shields it from its own signals.
  process.abort();
}

/**
 * Ends the process (SIGABRT) at an error that nothing has caught, after a line of the
 * log with its stack: a program in an unknown state may answer wrongly, or not at all.
 * A rejected promise is only logged if hooks of users run in this thread.
 */
export function endOnError(log: Logger, runsHooks: boolean): void {
  const advice = runsHooks
    ? "if it is a hook's, catch the errors of timers and of listeners; with --workers 1 it would end a thread alone"
    : "please report it with this line";
  const end = (err: unknown) => {
    log.error(`an unexpected error ends the program; ${advice}`, { err });
    supervised()?.enter("failed");
    killSelf("SIGABRT");
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", (err) => {
    if (!runsHooks) end(err);
    else log.error("a promise that no hook awaits was rejected; await it, or catch its errors", { err });
  });
}
