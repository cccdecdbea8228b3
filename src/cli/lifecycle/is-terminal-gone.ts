import { isatty } from "node:tty";

/** Checks if the terminal at which the program was started has been closed. */
export function isTerminalGone(): boolean {
  const { isTTY, fd } = process.stdout;
  return isTTY === true && !isatty(fd);
}
