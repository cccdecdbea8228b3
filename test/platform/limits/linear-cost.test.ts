import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { leastMs, TEXT_COSTS } from "./text-costs.ts";

const COMPUTED = "/proc/thread-self/schedstat";
/** Time that this thread has computed, in milliseconds, if the kernel tells it: a busy machine adds nothing to it. */
const clock = existsSync(COMPUTED)
  ? () => Number(readFileSync(COMPUTED, "latin1").split(" ", 1)[0]) / 1e6
  : () => performance.now();
/** The most that one text may hold the main thread, and tries in which a busy machine may hold it longer. */
const [MOST_MS, TRIES] = [50, 10];

test.each(TEXT_COSTS.filter(({ isInMainThread = true }) => isInMainThread).map((cost) => [cost.name, cost] as const))(
  "%s: the longest text of any kind holds the main thread for 50 ms at most",
  async (_, cost) => {
    for (const [kind, make] of Object.entries(cost.texts)) {
      const ms = await leastMs(cost, make(cost.most), (least, tries) => least <= MOST_MS || tries >= TRIES, clock);
      expect({ kind, ms, isShort: ms <= MOST_MS }).toEqual({ kind, ms, isShort: true });
    }
  },
);
