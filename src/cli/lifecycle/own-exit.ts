import type { Logger } from "../../observability/logger.ts";

const EXITED =
  "hooks, a driver or a library have called process.exit() in the program's main thread, which ends it; throw an error instead";

type Tell = (code: number) => void;

/** Before there is a log. Another code than 0 shows a failure by itself. */
let tell: Tell = (code) => {
  if (code === 0) process.stderr.write(`kserving: ${EXITED}.\n`);
};

/**
 * Runs the program to its end, and resolves with its exit code. An exit before that is not its own decision, and never
 * has the code 0, unless {@link allowExit} was called.
 */
export async function runToEnd(run: () => Promise<number>): Promise<number> {
  process.once("exit", refuse);
  // An uncaught error shows itself.
  process.once("uncaughtExceptionMonitor", allowExit);
  try {
    return await run();
  } finally {
    allowExit();
  }
}

/** Lets the process end from now on, since it was asked to stop. */
export function allowExit(): void {
  process.off("exit", refuse);
}

/** Has the log tell of an exit that is not the program's own decision. */
export function logExit(log: Logger): void {
  tell = (code) => log.error(EXITED, { code });
}

function refuse(code: number): void {
  tell(code);
  if (code === 0) process.exitCode = 1;
}
