import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { PartTurns } from "../../../src/platform/limits/part-turns.ts";

/** Makes parts without end, and notes the turn of each. */
async function makeParts(answer: string, parts: number, note: (answer: string) => void): Promise<void> {
  const turns = new PartTurns();
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
  const next = noted.slice(32, 60);
  expect(["a", "b", "c"].map((answer) => next.filter((name) => name === answer).length)).toEqual([8, 10, 10]);
  expect(noted.length).toBe(120);
});

it("lets each of a thousand answers go on, 32 in a turn", async () => {
  await nextTurn();
  let count = 0;
  const answers = Array.from({ length: 1000 }, () => makeParts("any", 1, () => count++));
  expect(count).toBe(32);
  await nextTurn();
  expect(count).toBeLessThanOrEqual(64);
  await Promise.all(answers);
  expect(count).toBe(1000);
});
