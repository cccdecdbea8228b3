import { describe, expect, it } from "vitest";
import { MAX_PREALLOCATED_BYTES } from "../../../src/limits/memory/byte-list.ts";
import { MemoryBudget } from "../../../src/limits/memory/memory-budget.ts";
import { MessageArrival } from "../../../src/limits/memory/message-arrival.ts";

const LENGTH = 10 * MAX_PREALLOCATED_BYTES;

function arrive(memory: MemoryBudget, announced: number) {
  const arrival = new MessageArrival(memory.open());
  arrival.announce(announced);
  return arrival;
}

describe("a message that arrives", () => {
  it("holds the received bytes, until enough have arrived to trust the announced length", () => {
    const memory = new MemoryBudget(LENGTH + MAX_PREALLOCATED_BYTES);
    const first = arrive(memory, LENGTH);
    first.add(MAX_PREALLOCATED_BYTES - 1);
    arrive(memory, LENGTH).add(MAX_PREALLOCATED_BYTES - 1);
    expect(() => first.add(1)).not.toThrow();
  });

  it("then holds all that it announced, so that another which does not fit is refused before it is there", () => {
    const memory = new MemoryBudget(LENGTH + 2 * MAX_PREALLOCATED_BYTES);
    const [first, second] = [arrive(memory, LENGTH), arrive(memory, LENGTH)];
    first.add(MAX_PREALLOCATED_BYTES);
    second.add(MAX_PREALLOCATED_BYTES - 1);
    expect(() => second.add(1)).toThrow(expect.objectContaining({ code: "unavailable" }));
    for (let arrived = MAX_PREALLOCATED_BYTES; arrived < LENGTH; arrived += MAX_PREALLOCATED_BYTES)
      first.add(MAX_PREALLOCATED_BYTES);
  });

  it("holds all at once where enough has arrived before the length is known", () => {
    const memory = new MemoryBudget(LENGTH);
    const [first, second] = [new MessageArrival(memory.open()), new MessageArrival(memory.open())];
    first.add(MAX_PREALLOCATED_BYTES);
    first.announce(LENGTH - MAX_PREALLOCATED_BYTES + 1);
    expect(memory.heldBytes).toBe(LENGTH - MAX_PREALLOCATED_BYTES + 1);
    expect(() => second.add(MAX_PREALLOCATED_BYTES)).toThrow(expect.objectContaining({ code: "unavailable" }));
  });

  it("holds what comes where it announces nothing", () => {
    const memory = new MemoryBudget(3 * MAX_PREALLOCATED_BYTES);
    arrive(memory, 0).add(2 * MAX_PREALLOCATED_BYTES);
    expect(() => arrive(memory, 0).add(2 * MAX_PREALLOCATED_BYTES)).toThrow(
      expect.objectContaining({ code: "unavailable" }),
    );
  });
});
