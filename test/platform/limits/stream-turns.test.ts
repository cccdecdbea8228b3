import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { StreamTurns } from "../../../src/platform/limits/stream-turns.ts";

/** Makes parts without end, and notes the turn of each. */
async function makeParts(answer: string, parts: number, note: (answer: string) => void): Promise<void> {
  const turns = new StreamTurns();
  for (let part = 0; part < parts; part++) {
    const turn = turns.next();
    if (turn !== undefined) await turn;
    note(answer);
  }
}

it("lets the event loop turn after 32 parts of all answers together, which take turns then", async () => {
  await nextTurn();
  const noted: string[] = [];
  const answers = ["a", "b", "c"].map((answer) => makeParts(answer, 40, (name) => noted.push(name)));
  expect(noted.join("")).toBe("a".repeat(32));
  await Promise.all(answers);
  expect(noted.length).toBe(120);
  // Each turn gives each of them as many.
  expect(noted.indexOf("c")).toBeLessThan(noted.lastIndexOf("b"));
  expect(noted.indexOf("b")).toBeLessThan(60);
});

it("lets each of a thousand answers go on, 32 in a turn at most", async () => {
  await nextTurn();
  let count = 0;
  const answers = Array.from({ length: 1000 }, () => makeParts("any", 1, () => count++));
  const counts = [count];
  while (count < 1000) {
    await nextTurn();
    counts.push(count);
  }
  await Promise.all(answers);
  expect(counts[0]).toBeLessThanOrEqual(32);
  expect(counts.length).toBeGreaterThan(30);
});
