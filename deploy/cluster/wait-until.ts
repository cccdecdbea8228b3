import { setTimeout as sleep } from "node:timers/promises";
import { reasonText } from "../../src/errors.ts";

/** Asks every 200 ms, errors counting as no, until the answer is yes; throws with the title and the last error. */
export async function waitUntil(title: string, isSo: () => Promise<boolean>, seconds = 60): Promise<void> {
  const end = performance.now() + seconds * 1000;
  let last: unknown;
  while (performance.now() < end) {
    try {
      if (await isSo()) return;
    } catch (reason) {
      last = reason;
    }
    await sleep(200);
  }
  const why = last === undefined ? "" : ` (${reasonText(last)})`;
  throw new Error(`not within ${seconds} s: ${title}${why}`);
}
