import { expect, test } from "vitest";
import { insertByPriority } from "../../../src/model-host/queue/insert-by-priority.ts";

test("1 comes first, none last, equals in the order they came", () => {
  const queue: { name: string; priority?: number }[] = [];
  const items = [
    { name: "none" },
    { name: "third", priority: 3 },
    { name: "zero", priority: 0 },
    { name: "first", priority: 1 },
    { name: "second", priority: 2 },
    { name: "first again", priority: 1 },
  ];
  for (const item of items) insertByPriority(queue, item);
  expect(queue.map(({ name }) => name)).toEqual(["first", "first again", "second", "third", "none", "zero"]);
});
