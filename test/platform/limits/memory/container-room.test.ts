import { expect, onTestFinished, test, vi } from "vitest";
import { containerRoom, watchContainerRoom } from "../../../../src/platform/limits/memory/container-room.ts";
import { MemoryBudget } from "../../../../src/platform/limits/memory/memory-budget.ts";
import type { MemoryShare } from "../../../../src/platform/limits/memory/memory-share.ts";
import { MessageArrival } from "../../../../src/platform/limits/memory/message-arrival.ts";

const MIB = 1024 ** 2;
const refused = expect.objectContaining({ code: "unavailable", message: expect.stringMatching(/container has \d+ b/) });

/** The container has so much free memory until the test ends. */
function hasFree(mebibytes: number): void {
  containerRoom.update({ bytes: mebibytes * MIB, of: "this container" });
  onTestFinished(() => containerRoom.update(undefined));
}

function openBudget(): MemoryBudget {
  const budget = new MemoryBudget(1000 * MIB);
  onTestFinished(() => budget.close());
  return budget;
}

/** A request that holds so much until it is released, or the test ends. */
function hold(budget: MemoryBudget, mebibytes: number): MemoryShare {
  const share = budget.open();
  share.grow(mebibytes * MIB);
  onTestFinished(() => share.release());
  return share;
}

test("a request that would take the container's last memory is refused, though it is alone", () => {
  hasFree(99);
  const budget = openBudget();
  expect(() => hold(budget, 34)).toThrow(refused);
  hold(budget, 33);
});

test("requests that came since the memory was read count, and no longer once they are over", () => {
  hasFree(100);
  const budget = openBudget();
  const first = hold(budget, 20);
  expect(() => hold(budget, 14)).toThrow(refused);
  first.release();
  hold(budget, 33);
});

test("requests that were there when the memory was read may still be copied", () => {
  const budget = openBudget();
  const first = hold(budget, 30);
  hasFree(100);
  expect(() => hold(budget, 14)).toThrow(refused);
  hold(budget, 13).release();
  first.release();
  hold(budget, 33);
});

test("what is announced may take what those hold who wait for their clients", () => {
  hasFree(100);
  const budget = openBudget();
  const waiting = hold(budget, 20);
  const newcomer = budget.open(0, "b");
  expect(() => newcomer.checkAnnounced(14 * MIB)).toThrow(refused);
  new MessageArrival(waiting);
  newcomer.checkAnnounced(14 * MIB);
  newcomer.release();
});

test("free memory that nobody reads again stays as it was", () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  hasFree(100);
  vi.setSystemTime(Date.now() + 200);
  expect([containerRoom.has(33 * MIB), containerRoom.has(34 * MIB)]).toEqual([true, false]);
});

test("small requests are answered to the last", () => {
  hasFree(0);
  const budget = openBudget();
  const share = budget.open();
  onTestFinished(() => share.release());
  expect(() => share.grow(64 * 1024)).not.toThrow();
  expect(() => share.grow(1)).toThrow(refused);
});

test("the memory of a machine without limits refuses no request", () => {
  containerRoom.update({ bytes: 0, of: "this machine" });
  expect(() =>
    openBudget()
      .open()
      .grow(10 * MIB),
  ).not.toThrow();
});

test("the free memory is read at once, and counts until it is not watched any more", () => {
  const stop = watchContainerRoom(() => ({ bytes: MIB, of: "this container" }));
  expect(containerRoom.freeBytes).toBe(MIB);
  stop();
  expect(containerRoom.freeBytes).toBe(Number.POSITIVE_INFINITY);
});

test("what was read a while ago is read again for a large request", () => {
  let bytes = 100 * MIB;
  vi.useFakeTimers({ toFake: ["Date"] });
  const stop = watchContainerRoom(() => ({ bytes, of: "this container" }));
  onTestFinished(() => {
    stop();
    vi.useRealTimers();
  });
  const budget = openBudget();
  hold(budget, 10).release();
  bytes = MIB;
  hold(budget, 10).release();
  vi.setSystemTime(Date.now() + 200);
  expect(() => hold(budget, 10)).toThrow(refused);
});

test("the free memory is read again each second, until it is not watched any more", () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  let bytes = MIB;
  const stop = watchContainerRoom(() => ({ bytes, of: "this container" }));
  bytes = 2 * MIB;
  vi.advanceTimersByTime(999);
  expect(containerRoom.freeBytes).toBe(MIB);
  vi.advanceTimersByTime(1);
  expect(containerRoom.freeBytes).toBe(2 * MIB);
  stop();
  expect([vi.getTimerCount(), containerRoom.freeBytes]).toEqual([0, Number.POSITIVE_INFINITY]);
  expect(containerRoom.has(2 ** 50)).toBe(true);
});

test("free memory counts in whole kilobytes, and as much as a cell has room for", () => {
  onTestFinished(() => containerRoom.update(undefined));
  for (const [bytes, known] of [
    [1023, 0],
    [1024, 1024],
    [2 ** 50, (2 ** 31 - 2) * 1024],
  ] as const) {
    containerRoom.update({ bytes, of: "this container" });
    expect(containerRoom.freeBytes).toBe(known);
  }
});
