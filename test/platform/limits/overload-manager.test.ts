import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import type { EndedRequest } from "../../../src/platform/limits/ended-requests.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import { MessageArrival } from "../../../src/platform/limits/memory/message-arrival.ts";
import type { OverloadRules } from "../../../src/platform/limits/overload-manager.ts";
import { ThreadCounts } from "../../../src/platform/limits/thread-counts.ts";

const MAX_BYTES = 10_000_000;

function start(rules: Partial<OverloadRules> = {}, counts?: ThreadCounts) {
  const budget = new MemoryBudget(MAX_BYTES, counts);
  const ended: EndedRequest[] = [];
  budget.overload.configure({ minClientRate: 1000, spanMs: 300, onEnded: (request) => ended.push(request), ...rules });
  /** A message of a client, of which some bytes have come. */
  const receive = (client: string, announced: number, arrived: number) => {
    const share = budget.open(0, client);
    const arrival = new MessageArrival(share, () => {});
    arrival.announce(announced);
    arrival.add(arrived);
    return { share, arrival };
  };
  return { budget, ended, receive };
}

test("a client below the minimum rate is ended, with what it held and why", async () => {
  const { budget, ended, receive } = start();
  receive("slow", 2_000_000, 1_000_000);
  const { arrival } = receive("fast", 2_000_000, 1000);
  while (ended.length === 0) {
    arrival.add(100);
    await wait(5);
  }
  expect(ended).toMatchObject([{ client: "slow", reason: "slow", direction: "receiving" }]);
  expect(ended[0]?.bytes).toBeGreaterThan(1_000_000);
  expect(budget.heldBytes).toBeLessThan(1_000_000);
});

test("a rate is measured over time: a fast beginning does not count for later, nor does a little now and then", async () => {
  const { ended, receive } = start();
  const { arrival } = receive("a", MAX_BYTES, 5_000_000);
  const dripping = setInterval(() => arrival.add(1), 20);
  await expect.poll(() => ended.length).toBe(1);
  clearInterval(dripping);
});

test("a client that is not waited for is not ended, nor where there is no minimum", async () => {
  const { ended, receive } = start();
  receive("between messages", 1000, 500).arrival.isClientsTurn = false;
  receive("whole", 1000, 1000).arrival.done();
  const without = start({ minClientRate: 0 });
  without.receive("slow", 1000, 500);
  const { ended: slow } = receive("slow", 1000, 500) && { ended };
  await expect.poll(() => slow.map(({ client }) => client)).toEqual(["slow"]);
  expect(without.ended).toEqual([]);
});

test("one client may use everything, and its fair share once there is another", () => {
  const { budget, ended, receive } = start();
  const all = [receive("a", 5_000_000, 5_000_000), receive("a", 4_900_000, 4_900_000)];
  all[0]?.arrival.done();
  expect(ended).toEqual([]);
  const newcomer = receive("b", 1_000_000, 1_000_000);
  expect(ended).toMatchObject([{ client: "a", reason: "memory", bytes: 4_900_000 }]);
  expect(all[1]?.share.bytes).toBe(0);
  expect(newcomer.share.bytes).toBe(1_000_000);
  expect(budget.clients.of("a").bytes).toBe(5_000_000);
});

test("of several threads, each gives what it holds of a client beyond its share, to newcomers of all", async () => {
  const memory = ThreadCounts.memoryFor(3);
  const [first, second, third] = [1, 2, 0].map((thread) =>
    start({ minClientRate: 0 }, new ThreadCounts(memory, thread)),
  );
  for (const thread of [first, second]) thread?.receive("a", 5_000_000, 4_900_000);
  first?.receive("b", 1_000_000, 1_000_000);
  expect(first?.ended).toMatchObject([{ client: "a", reason: "memory" }]);
  third?.receive("c", 3_000_000, 3_000_000).arrival.done();
  // What holds too much is in another thread.
  const newcomer = () => third?.receive("d", 1_200_000, 1_200_000).share.release();
  expect(newcomer).toThrow(expect.objectContaining({ code: "unavailable" }));
  await expect.poll(() => second?.ended.map(({ client }) => client)).toEqual(["a"]);
  newcomer();
  expect([first?.ended, third?.ended].map((ended) => ended?.length)).toEqual([1, 0]);
});

test("who has more than a fair share takes nothing from others", () => {
  const { ended, receive } = start();
  receive("a", 4_000_000, 4_000_000);
  receive("b", 9_000_000, 5_900_000);
  expect(() => receive("b", 3_000_000, 3_000_000)).toThrow(expect.objectContaining({ code: "unavailable" }));
  expect(ended).toEqual([]);
});

test("of one client's own requests, those make room that have stopped", async () => {
  const { ended, receive } = start({ minClientRate: 0 });
  const stopped = receive("a", 9_000_000, 4_000_000);
  const going = receive("a", 9_000_000, 4_000_000);
  const goes = setInterval(() => going.arrival.add(1), 2);
  const newcomer = () => {
    const { share } = receive("a", 2_500_000, 2_500_000);
    share.release();
    return true;
  };
  expect(newcomer).toThrow(expect.objectContaining({ code: "unavailable" }));
  await expect.poll(() => stopped.share.pace?.isKnown).toBe(true);
  await wait(50);
  expect(newcomer()).toBe(true);
  clearInterval(goes);
  expect([stopped.share.bytes, ended.length]).toEqual([0, 1]);
});

test("what runs is not ended for others, and what a message announces is refused where all that runs leaves no room", () => {
  const { budget, ended } = start();
  budget.open(0, "a").grow(8_000_000);
  const newcomer = budget.open(0, "b");
  expect(() => newcomer.checkAnnounced(3_000_000)).toThrow(expect.objectContaining({ code: "unavailable" }));
  expect(() => newcomer.grow(3_000_000)).toThrow(expect.objectContaining({ code: "unavailable" }));
  newcomer.grow(1_000_000);
  expect(ended).toEqual([]);
});

test("what is ended releases its parts too, and can hold nothing any more", () => {
  const { budget, receive } = start();
  const { share } = receive("a", 9_900_000, 9_900_000);
  const part = share.split(4_000_000);
  receive("b", 1_000_000, 1_000_000);
  expect([share.bytes, part.bytes, budget.heldBytes]).toEqual([0, 0, 1_000_000]);
  expect(() => part.grow(1)).toThrow(expect.objectContaining({ code: "cancelled" }));
  expect(() => share.grow(1)).toThrow(expect.objectContaining({ code: "cancelled" }));
});
