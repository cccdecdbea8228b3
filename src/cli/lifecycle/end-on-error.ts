import type { Logger } from "../../observability/logger.ts";
import { supervised } from "../supervisor/supervised.ts";
import { killSelf } from "./kill-self.ts";

/**
 * Ends the process (SIGABRT) at an error that nothing has caught, after a line of the
 * log with its stack: a program in an unknown state may answer wrongly, or not at all.
 * A promise that was rejected is logged alone where hooks of users run in this thread.
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
