import { expect, onTestFinished, test, vi } from "vitest";
import { ThreadCounts } from "../../../src/platform/limits/thread-counts.ts";

test("threads enter as far as the limit of all goes, and what an ended one counted is given back", () => {
  const memory = ThreadCounts.memoryFor(2);
  const [one, other] = [new ThreadCounts(memory, 0), new ThreadCounts(memory, 1)];
  expect([one.enter(2), other.enter(2)]).toEqual([
    { isIn: true, count: 1 },
    { isIn: true, count: 2 },
  ]);
  expect(one.enter(2)).toEqual({ isIn: false, count: 2 });
  one.leave();
  expect(other.enter(2).isIn).toBe(true);
  expect(one.enter(2).isIn).toBe(false);
  one.forget(1);
  expect([one.enter(2), one.enter(2), one.enter(2)].map(({ isIn }) => isIn)).toEqual([true, true, false]);
});

test("a thread sees what the others hold, until that is taken away", () => {
  const memory = ThreadCounts.memoryFor(3);
  const [one, other, third] = [0, 1, 2].map((thread) => new ThreadCounts(memory, thread));
  expect(one?.threads).toBe(3);
  other?.set(5);
  third?.set(7);
  one?.set(100);
  expect([one?.others(), other?.others()]).toEqual([12, 107]);
  expect(one?.take(2)).toBe(7);
  expect(one?.others()).toBe(5);
});

test("a wish is seen by all threads for three seconds, and until it has come true", () => {
  const uptime = vi.spyOn(process, "uptime").mockReturnValue(100);
  onTestFinished(() => uptime.mockRestore());
  const memory = ThreadCounts.memoryFor(2);
  const [one, other] = [new ThreadCounts(memory, 0), new ThreadCounts(memory, 1)];
  one.wish(5);
  const seen = [100.9, 103.9, 104, 103].map((seconds) => {
    uptime.mockReturnValue(seconds);
    return other.wished;
  });
  expect(seen).toEqual([5, 5, 0, 5]);
  other.endWish(4);
  expect(one.wished).toBe(5);
  other.endWish(5);
  expect(one.wished).toBe(0);
});
