import { describe, expect, it } from "vitest";
import { ServingError } from "../../../../src/errors.ts";
import { MAX_PREALLOCATED_BYTES } from "../../../../src/platform/limits/memory/byte-list.ts";
import { MemoryBudget } from "../../../../src/platform/limits/memory/memory-budget.ts";
import { MessageArrival } from "../../../../src/platform/limits/memory/message-arrival.ts";

const LENGTH = 100 * MAX_PREALLOCATED_BYTES;

function arrive(memory: MemoryBudget, announced: number) {
  const arrival = new MessageArrival(memory.open());
  arrival.announce(announced);
  return arrival;
}

describe("a message that arrives", () => {
  it("holds what has come and a little more, whatever it announces", () => {
    const memory = new MemoryBudget(2 * LENGTH);
    const first = arrive(memory, LENGTH);
    first.add(MAX_PREALLOCATED_BYTES - 1);
    expect(memory.heldBytes).toBe(MAX_PREALLOCATED_BYTES - 1);
    first.add(1);
    expect(memory.heldBytes).toBe(5 * MAX_PREALLOCATED_BYTES);
    first.add(LENGTH - MAX_PREALLOCATED_BYTES);
    expect(memory.heldBytes).toBe(LENGTH);
  });

  it("is refused once there is no room for what has come", () => {
    const memory = new MemoryBudget(LENGTH);
    const [first, second] = [arrive(memory, LENGTH), arrive(memory, LENGTH)];
    first.add(LENGTH / 2);
    second.add(LENGTH / 4);
    expect(() => second.add(LENGTH / 4)).toThrow(expect.objectContaining({ code: "unavailable" }));
  });

  it("holds what comes where it announces nothing", () => {
    const memory = new MemoryBudget(3 * MAX_PREALLOCATED_BYTES);
    arrive(memory, 0).add(2 * MAX_PREALLOCATED_BYTES);
    expect(() => arrive(memory, 0).add(2 * MAX_PREALLOCATED_BYTES)).toThrow(
      expect.objectContaining({ code: "unavailable" }),
    );
  });

  it("waits for its client until it is there, or given up", () => {
    const share = new MemoryBudget(LENGTH).open();
    const arrival = new MessageArrival(share);
    arrival.announce(LENGTH);
    arrival.add(LENGTH / 4);
    expect(share.receiving).toMatchObject({ movedBytes: LENGTH / 4, leftBytes: (3 * LENGTH) / 4, isClientsTurn: true });
    arrival.done();
    expect(share.receiving).toBeUndefined();
  });

  it("has as much left as has come where it announces nothing, and a piece at least", () => {
    const arrival = arrive(new MemoryBudget(LENGTH), 0);
    expect(arrival).toMatchObject({ movedBytes: 0, leftBytes: 64 * 1024, stepBytes: 0 });
    arrival.add(100_000);
    expect(arrival).toMatchObject({ movedBytes: 100_000, leftBytes: 100_000, countedBytes: 100_000 });
    arrival.announce(100_001);
    expect(arrival.leftBytes).toBe(1);
  });

  it("reserves nothing more for what it has reserved, and no more than is announced", () => {
    const memory = new MemoryBudget(LENGTH);
    const arrival = arrive(memory, 50_000);
    arrival.add(20_000);
    expect([arrival.countedBytes, memory.heldBytes]).toEqual([50_000, 50_000]);
    arrival.add(30_000);
    expect([arrival.countedBytes, memory.heldBytes]).toEqual([50_000, 50_000]);
    arrival.add(1);
    expect([arrival.countedBytes, memory.heldBytes]).toEqual([50_001, 50_001]);
    const longer = arrive(new MemoryBudget(LENGTH), LENGTH);
    for (const bytes of [20_000, 65_536]) longer.add(bytes);
    expect(longer.countedBytes).toBe(20_000 + 64 * 1024);
  });

  it("is ended by its own function, and lets another one that has taken its place wait on", () => {
    const share = new MemoryBudget(LENGTH).open();
    const errors: unknown[] = [];
    const first = new MessageArrival(share, (error) => errors.push(error));
    const second = new MessageArrival(share);
    first.done();
    expect(share.receiving).toBe(second);
    const error = new ServingError("unavailable", "no room");
    first.end(error);
    second.end(error);
    expect(errors).toEqual([error]);
  });
});
