import { expect, onTestFinished, test, vi } from "vitest";
import { TurnLock } from "../../../src/pipeline/poison/turn-lock.ts";

function start() {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const lock = new TurnLock();
  const begun: string[] = [];
  const run = async (name: string, group: object) => {
    const turn = await lock.enter(group);
    begun.push(name);
    return () => lock.leave(turn);
  };
  return { lock, begun, run };
}

test("groups run one after the other, and those of one together", async () => {
  const { lock, begun, run } = start();
  const [one, other] = [{}, {}];
  const leaves = [await run("a", one), await run("b", one)];
  const next = run("c", other);
  leaves[0]?.();
  await Promise.resolve();
  expect(begun).toEqual(["a", "b"]);
  leaves[1]?.();
  (await next)();
  expect(begun).toEqual(["a", "b", "c"]);
  expect(lock.isFree).toBe(true);
});

test("one that never ends keeps others waiting once, not each time", async () => {
  const { lock, begun, run } = start();
  const [known, suspect] = [{}, {}];
  const endStream = await run("stream", known);
  const first = run("suspect", suspect);
  const second = run("request", known);
  expect(begun).toEqual(["stream"]);
  await vi.advanceTimersByTimeAsync(5000);
  (await first)();
  (await second)();
  (await run("suspect again", suspect))();
  (await run("request again", known))();
  expect(begun).toEqual(["stream", "suspect", "request", "suspect again", "request again"]);
  endStream();
  expect(lock.isFree).toBe(true);
});
