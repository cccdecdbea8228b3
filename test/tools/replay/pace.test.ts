import { expect, test, vi } from "vitest";
import { Pace } from "../../../src/tools/replay/pace.ts";

test("a request that is due in more days than a timer has waits for it all the same", async () => {
  const wait = vi.spyOn(process, "emitWarning");
  const end = new AbortController();
  const pace = new Pace("recorded", 1, end.signal);
  await pace.next(0);
  let isDue = false;
  const next = pace.next(30 * 24 * 3600 * 1000).then(() => {
    isDue = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([isDue, wait.mock.calls]).toEqual([false, []]);
  end.abort();
  await next;
  wait.mockRestore();
});
