import { describe, expect, it } from "vitest";
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
});
