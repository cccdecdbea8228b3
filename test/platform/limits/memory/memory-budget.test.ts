import { afterAll, expect, test } from "vitest";
import { ImageReservation } from "../../../../src/platform/limits/memory/image-reservation.ts";
import { MemoryBudget } from "../../../../src/platform/limits/memory/memory-budget.ts";
import { MessageArrival } from "../../../../src/platform/limits/memory/message-arrival.ts";
import { threadMemory } from "../../../../src/platform/limits/memory/thread-memory.ts";
import { ThreadCounts } from "../../../../src/platform/limits/thread-counts.ts";

const KIB = 1024;
/** Room for what other tests of this process have not released yet. */
const spare = new MemoryBudget(2 ** 32);
afterAll(() => spare.close());
const full = expect.objectContaining({
  code: "unavailable",
  message: expect.stringContaining("--max-queue-bytes 100"),
});

test("requests hold no more together than the budget", () => {
  const budget = new MemoryBudget(100);
  const [first, second] = [budget.open(), budget.open()];
  first.grow(60);
  second.grow(40);
  expect(() => second.grow(1)).toThrow(full);
  expect(() => first.grow(1)).toThrow("The requests under way hold 100 bytes");
  second.shrink(10);
  first.grow(10);
  second.release();
  first.grow(30);
});

test("a request alone may hold any number of bytes, and then keeps all others out", () => {
  const budget = new MemoryBudget(100);
  const [alone, late] = [budget.open(), budget.open()];
  alone.grow(90);
  alone.grow(900);
  expect(() => late.grow(1)).toThrow(full);
  alone.release();
  late.grow(1000);
});

test("small requests are admitted while large ones fill the budget, up to an eighth of it", () => {
  const budget = new MemoryBudget(2 ** 20);
  const [first, large] = [budget.open(), budget.open()];
  first.grow(1);
  large.grow(2 ** 20 - 1);
  const small = Array.from({ length: 128 }, () => budget.open());
  for (const share of small) share.grow(1024);
  expect(() => budget.open().check(1)).toThrow();
  small[0]?.release();
  expect(() => budget.open().check(1025)).toThrow();
  budget.open().check(1024);
});

test("a check takes nothing", () => {
  const budget = new MemoryBudget(100);
  const [first, second] = [budget.open(), budget.open()];
  first.grow(50);
  second.check(50);
  expect(() => second.check(51)).toThrow(full);
  first.grow(50);
});

test("what was counted on the way in is not counted again", () => {
  const budget = new MemoryBudget(100);
  const [first, second] = [budget.open(), budget.open()];
  first.grow(60);
  first.growTo(50);
  expect(first.bytes).toBe(60);
  first.growTo(80);
  expect(() => second.grow(21)).toThrow(full);
  second.grow(20);
});

test("a share that was released takes nothing any more", () => {
  const budget = new MemoryBudget(100);
  const share = budget.open();
  share.grow(60);
  share.release();
  share.release();
  expect(() => share.grow(1)).toThrow(expect.objectContaining({ code: "cancelled" }));
  share.growTo(0);
  share.setTo(0);
  budget.open().check(100);
});

test("threads have one budget together, in which a request that two of them have counts once and may be the only one", () => {
  const memory = ThreadCounts.memoryFor(2);
  const [main, other] = [0, 1].map(
    (thread) => new MemoryBudget(100 * 1024, new ThreadCounts(memory, thread), thread === 0),
  );
  const received = other?.open();
  received?.grow(200 * 1024);
  expect(main?.heldBytes).toBe(200 * 1024);
  expect(() => main?.open().grow(70 * 1024)).toThrow("The requests under way hold");
  const running = main?.open(received?.bytes);
  running?.growTo(200 * 1024);
  expect([main?.heldBytes, other?.heldBytes]).toEqual([200 * 1024, 200 * 1024]);
  running?.growTo(300 * 1024);
  expect(other?.heldBytes).toBe(300 * 1024);
  running?.release();
  received?.shrink(1);
  const again = main?.open(received?.bytes);
  again?.growTo(300 * 1024);
  again?.release();
  received?.grow(1);
  expect(other?.heldBytes).toBe(200 * 1024);
  received?.release();
  expect(main?.heldBytes).toBe(0);
});

test("a request may be the only one with what its parts hold, and not with what the others of its stream do", () => {
  const budget = new MemoryBudget(100);
  const share = budget.open();
  const part = share.split(0, true);
  part.grow(80);
  share.grow(80);
  part.grow(80);
  expect(budget.heldBytes).toBe(240);
  share.releaseAll();
  const stream = budget.open();
  const [first, second] = [stream.split(0), stream.split(0)];
  for (const bytes of [80, 40]) first.grow(bytes);
  expect(() => second.grow(80)).toThrow(expect.objectContaining({ code: "unavailable" }));
  stream.releaseAll();
});

test("a share is set to no more than there is room for", () => {
  const budget = new MemoryBudget(100);
  budget.open().grow(60);
  const share = budget.open();
  expect(share.isWireOnly).toBe(false);
  share.setTo(40);
  expect(() => share.setTo(41)).toThrow(full);
  expect(share.bytes).toBe(40);
});

test("a share is set, shrunk and split within what it holds", () => {
  const budget = new MemoryBudget(1000);
  const share = budget.open(0, "a");
  for (const bytes of [60, 20, 20, 50]) {
    share.setTo(bytes);
    expect([share.bytes, budget.heldBytes]).toEqual([bytes, bytes]);
  }
  share.shrink(10);
  const part = share.split(15);
  expect([share.bytes, part.bytes, share.totalBytes, budget.heldBytes]).toEqual([25, 15, 40, 40]);
  expect(share.split(100).bytes).toBe(25);
  part.shrink(100);
  expect([part.bytes, share.totalBytes, budget.clients.of("a").bytes]).toEqual([0, 25, 25]);
  part.release();
  share.releaseAll();
  expect([share.totalBytes, budget.heldBytes, budget.clients.of("a").isIdle]).toEqual([0, 0, true]);
});

test("a budget is half full from its half on", () => {
  const budget = new MemoryBudget(100);
  const share = budget.open();
  share.grow(49);
  expect(budget.isHalfFull).toBe(false);
  share.grow(1);
  expect(budget.isHalfFull).toBe(true);
});

test("what is announced may take the room of those that wait for their clients, and no other", () => {
  const budget = new MemoryBudget(1000);
  const [waiting, running] = [budget.open(0, "a"), budget.open(0, "b")];
  new MessageArrival(waiting).add(400);
  running.grow(500);
  const newcomer = budget.open(0, "c");
  newcomer.checkAnnounced(500);
  expect(() => newcomer.checkAnnounced(501)).toThrow(expect.objectContaining({ code: "unavailable" }));
});

test("a look for room ends nobody, and tells as a check does", () => {
  const budget = new MemoryBudget(1000);
  const waiting = budget.open(0, "a");
  new MessageArrival(waiting).add(900);
  const newcomer = budget.open(0, "b");
  expect([100, 101].map((bytes) => newcomer.hasRoom(bytes))).toEqual([true, false]);
  expect(waiting.bytes).toBe(900);
});

test("a request is not alone once another thread holds a kilobyte", () => {
  const memory = ThreadCounts.memoryFor(2);
  const [main, other] = [0, 1].map(
    (thread) => new MemoryBudget(100 * 1024, new ThreadCounts(memory, thread), thread === 0),
  );
  const received = other?.open();
  received?.grow(1);
  const share = main?.open();
  expect(() => share?.grow(200 * 1024)).toThrow("The requests under way hold");
  received?.release();
  share?.grow(200 * 1024);
});

test("what a part is sent as counts beyond what is counted as the part already", () => {
  const share = new MemoryBudget(1000).open();
  share.partBytes = 30;
  expect([10, 30, 50].map((bytes) => share.beyondPart(bytes))).toEqual([0, 0, 20]);
});

test("room is made by an end of which nobody is told", () => {
  const budget = new MemoryBudget(1000);
  const waiting = budget.open(0, "a");
  new MessageArrival(waiting).add(900);
  const newcomer = budget.open(0, "b");
  newcomer.grow(400);
  expect([waiting.bytes, budget.heldBytes]).toEqual([0, 400]);
});

test("a budget adds to the limit of all threads until it is closed, but for a further one of the same server", () => {
  const kept = new MemoryBudget(KIB);
  const before = threadMemory.limitBytes;
  const budgets = [new MemoryBudget(5 * KIB), new MemoryBudget(7 * KIB, undefined, false)];
  expect(threadMemory.limitBytes - before).toBe(5 * KIB);
  for (const budget of budgets) budget.close();
  expect(threadMemory.limitBytes).toBe(before);
  kept.close();
});

test("images that leave no room keep large requests out, which tells what both hold, and no small ones", () => {
  const budget = new MemoryBudget(2 ** 30);
  budget.open().grow(1);
  const { limitBytes } = threadMemory;
  const images = new ImageReservation(limitBytes);
  const spared = 2 ** 24;
  expect(() => budget.open().check(spared + 1)).toThrow(`The requests under way hold ${limitBytes + 1} bytes`);
  budget.open().check(spared);
  for (let count = 0; count < 6; count++) budget.open().grow(spared);
  const more = budget.open();
  expect(() => more.grow(2 ** 25)).toThrow("The requests under way hold");
  more.grow(spared);
  more.release();
  const last = budget.open();
  last.grow(spared);
  budget.open().grow(spared - KIB);
  expect(() => budget.open().check(64 * KIB + 1)).toThrow("The requests under way hold");
  budget.open().check(64 * KIB);
  images.release();
  budget.open().check(64 * KIB + 1);
});
