import { expect, onTestFinished, test, vi } from "vitest";
import { keepFresh } from "../../../src/access/authentication/keep-fresh.ts";
import { createEventLog } from "../../helpers/event-log.ts";

test("files are read again at once and every ten seconds, and a problem is told once until it is another one", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const outcomes = [["a.txt", "b.txt"], [], "no", "no", "other", [], "other", ["late.txt"]];
  let reads = 0;
  const refresh = async () => {
    const outcome = outcomes[reads++] ?? [];
    if (typeof outcome === "string") throw new Error(outcome);
    return outcome;
  };
  const { log, events } = createEventLog();
  const stop = keepFresh({ refresh }, log);
  await vi.advanceTimersByTimeAsync(9999);
  expect(reads).toBe(1);
  await vi.advanceTimersByTimeAsync(6 * 10_000);
  expect(reads).toBe(7);
  stop();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(reads).toBe(7);
  const changed = { msg: "credentials or rules have changed", level: "info" };
  const unread = { msg: "credentials or rules cannot be read; the former ones stay in use", level: "error" };
  expect(events).toMatchObject([
    ...["a.txt", "b.txt"].map((path) => ({ ...changed, path })),
    ...["no", "other", "other"].map((message) => ({ ...unread, err: { message } })),
  ]);
});
