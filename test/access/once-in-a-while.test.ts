import { expect, onTestFinished, test, vi } from "vitest";
import { onceInAWhile } from "../../src/access/once-in-a-while.ts";

test("a function is called once in a minute, with what it was called with then", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const calls: string[] = [];
  const call = onceInAWhile((text: string) => calls.push(text));
  for (const [text, ms] of [
    ["first", 59_999],
    ["too soon", 1],
    ["second", 0],
    ["too soon", 0],
  ] as const) {
    call(text);
    vi.advanceTimersByTime(ms);
  }
  expect(calls).toEqual(["first", "second"]);
});
