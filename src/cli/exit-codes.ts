import { ServingError } from "../errors.ts";

/** Exit codes of the program, if no signal ends it. */
export const EXIT = {
  /** Stopped by a signal with all requests finished, or help was asked for. */
  ok: 0,
  /** A model or hook file that does not load, a port in use: what was asked for is clear but cannot be had. */
  failure: 1,
  /** A flag, value or combination that makes no sense. */
  usage: 2,
  /** Stopped in good order since its memory was above `--max-rss`. */
  memory: 3,
} as const;

/** The exit code for a start that failed. */
export function toExitCode(reason: unknown): number {
  return reason instanceof ServingError && reason.code === "invalid_argument" ? EXIT.usage : EXIT.failure;
}
