import { whyOneListener } from "../../src/server/server.ts";

/**
 * The reason why only one thread can listen here; undefined = more can. Prints why tests of several are skipped:
 * `npm run check -- node` runs them.
 */
export function missingListeners(): string | undefined {
  const why = whyOneListener({ allowClientShm: false });
  if (why !== undefined) process.stderr.write(`tests of several listeners are skipped: ${why}\n`);
  return why;
}
