import { expect, test } from "vitest";
import { CancelSource } from "../../src/async/cancel-source.ts";
import { limitTime } from "../../src/limits/time-limit.ts";

const aborted = (signal: { addEventListener(event: "abort", listener: () => void): void }) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

test.each([
  ["there is no timeout", { timeoutMs: 0 }],
  ["the client's deadline is earlier", { timeoutMs: 60_000, deadline: Date.now() + 1000 }],
])("a limit stays as it is where %s", (_, { timeoutMs, ...limit }) => {
  const signal = new CancelSource();
  const limited = limitTime({ signal, ...limit }, timeoutMs);
  expect(limited.signal).toBe(signal);
  expect(limited.deadline).toBe((limit as { deadline?: number }).deadline);
  limited.clear();
});

test("a limit that is later, or none, becomes the timeout's, and aborts as late when that passes", async () => {
  for (const deadline of [undefined, Date.now() + 60_000]) {
    const { signal, deadline: until, clear } = limitTime({ signal: new CancelSource(), deadline }, 20);
    expect((until as number) - Date.now()).toBeLessThanOrEqual(20);
    await aborted(signal);
    expect(signal.reason).toMatchObject({ name: "TimeoutError" });
    clear();
  }
});

test("a limited signal aborts with its parent, also one that has aborted before", () => {
  const parent = new CancelSource();
  const before = limitTime({ signal: parent }, 60_000);
  parent.abort("gone");
  const after = limitTime({ signal: parent }, 60_000);
  for (const { signal, clear } of [before, after]) {
    expect(signal.reason).toBe("gone");
    clear();
  }
});

test("a limit that was cleared is heard of no more", async () => {
  const parent = new CancelSource();
  const { signal, clear } = limitTime({ signal: parent }, 1);
  clear();
  parent.abort("gone");
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(signal.aborted).toBe(false);
});
